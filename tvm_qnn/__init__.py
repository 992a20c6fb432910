"""Pre-quantized models, compiled by TVM to integer code, bit for bit."""
