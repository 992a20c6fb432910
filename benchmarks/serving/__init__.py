"""Servers of the Open Inference Protocol, and what asks them."""
