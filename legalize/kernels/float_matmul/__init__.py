"""Products of float32 matrices, with their axes in any order in memory."""
