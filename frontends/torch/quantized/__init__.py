"""Groups of a quantize, an operator and a dequantize."""
