"""Rewrites a model's nodes before they are converted."""
