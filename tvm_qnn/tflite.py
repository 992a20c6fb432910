"""Extensions of the import of TFLite models."""

from frontends.tflite.custom import CustomCall, custom

__all__ = ["CustomCall", "custom"]
