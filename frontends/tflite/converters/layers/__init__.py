"""Convolutions, dense layers, products of matrices, and pools."""
