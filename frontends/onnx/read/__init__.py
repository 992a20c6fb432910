"""Reading of models: checks and changes, so that the package onnx and ONNX Runtime accept them."""
