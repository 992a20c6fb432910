"""Functions of quantized values as tables, and softmax and gates, which read them."""
