"""Depthwise convolutions on ARM."""
