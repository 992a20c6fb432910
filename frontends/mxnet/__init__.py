"""Import of quantized MXNet models."""
