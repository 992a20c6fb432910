"""Products of two matrices, of which the second is packed when they are multiplied."""
