"""Layers over time."""
