"""Depthwise convolutions on x86."""
