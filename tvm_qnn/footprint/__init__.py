"""Computes how much of a processor's memory a model takes, layer by layer, before any linking."""
