"""Kernels in terms of vectors, for every architecture that tells how its vectors work."""
