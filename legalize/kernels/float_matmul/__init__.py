"""Products of float32 matrices whose axes have any order in memory."""
