"""Reading of models: checked, and brought to what both the package onnx and ONNX Runtime take."""
