"""Extensions of the import of ONNX models."""

from frontends.onnx.custom import CustomCall, custom

__all__ = ["CustomCall", "custom"]
