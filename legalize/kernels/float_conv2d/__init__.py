"""Convolutions of float32 whose sums have a stated order."""
