"""Between real numbers and quantized ones."""
