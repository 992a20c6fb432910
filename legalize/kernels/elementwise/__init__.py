"""Sums, differences and products of two tensors."""
