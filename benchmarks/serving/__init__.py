"""Servers of the Open Inference Protocol, and their clients."""
