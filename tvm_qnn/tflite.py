"""Extensions of the import of TFLite models."""

from __future__ import annotations

from frontends.tflite.custom import CustomCall, custom

__all__ = ["CustomCall", "custom"]
