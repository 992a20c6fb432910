"""Sums of products in AMX's tiles."""
