"""Tables of functions of quantized values, and softmax and gates, which read tables."""
