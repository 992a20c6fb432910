"""Products of two matrices. The second is packed at run time."""
