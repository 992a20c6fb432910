"""Products of two matrices. The second is packed when they are multiplied."""
