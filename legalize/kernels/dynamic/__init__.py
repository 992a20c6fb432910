"""Rows of real numbers, quantized at run time."""
