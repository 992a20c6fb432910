"""Import of TFLite models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from frontends.tflite.fallback import QuantizedFallbackWarning
    from frontends.tflite.importer import from_tflite

__all__ = ["QuantizedFallbackWarning", "from_tflite"]

make_lazy(
    __name__,
    {
        "QuantizedFallbackWarning": ("frontends.tflite.fallback",),
        "from_tflite": ("frontends.tflite.importer",),
    },
)
