"""Draws a model's graph, also beside another model's."""
