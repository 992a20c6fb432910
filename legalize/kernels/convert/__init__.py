"""Conversions between real numbers and quantized ones."""
