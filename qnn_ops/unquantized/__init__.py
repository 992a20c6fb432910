"""Operators that no scale belongs to: floats, boxes, indices, windows and loops."""
