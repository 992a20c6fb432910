"""Extensions of the import of ONNX models."""

from __future__ import annotations

from frontends.onnx.custom import CustomCall, custom

__all__ = ["CustomCall", "custom"]
