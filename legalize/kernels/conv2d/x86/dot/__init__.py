"""Sums of products, four bytes or two words of a pixel at a time."""
