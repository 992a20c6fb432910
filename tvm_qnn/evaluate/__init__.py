"""Measures a model's accuracy on data, and compares its outputs with its own framework's."""
