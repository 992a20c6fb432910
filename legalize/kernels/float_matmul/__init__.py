"""Products of float32 matrices, whose axes may lie in memory in any order."""
