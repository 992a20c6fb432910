"""Import of TFLite models."""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from frontends.tflite.importer import from_tflite
    from frontends.tflite.interface.signatures import SignatureWarning
    from frontends.tflite.notes import (
        NotQuantizedWarning,
        QuantizedFallbackWarning,
        WrappingSumsWarning,
        WrongInLiteRTWarning,
    )

__all__ = [
    "NotQuantizedWarning",
    "QuantizedFallbackWarning",
    "SignatureWarning",
    "WrappingSumsWarning",
    "WrongInLiteRTWarning",
    "from_tflite",
]

make_lazy(
    __name__,
    {
        **dict.fromkeys(__all__, ("frontends.tflite.notes",)),
        "SignatureWarning": ("frontends.tflite.interface.signatures",),
        "from_tflite": ("frontends.tflite.importer",),
    },
)
