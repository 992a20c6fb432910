"""Operators on quantized tensors, a file for each family."""
