"""Means over rows and columns."""
