"""Import of TFLite models."""

from __future__ import annotations

from frontends.tflite.fallback import QuantizedFallbackWarning
from frontends.tflite.importer import from_tflite

__all__ = ["QuantizedFallbackWarning", "from_tflite"]
