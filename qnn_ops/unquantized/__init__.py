"""Operators without scales: on floats, boxes, indices, windows and loops."""
