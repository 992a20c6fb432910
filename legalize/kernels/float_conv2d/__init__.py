"""Convolutions of float32; the order of each sum is fixed."""
