"""Depthwise convolutions on microcontrollers."""
