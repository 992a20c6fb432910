"""Import of TFLite models."""
