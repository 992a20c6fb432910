"""Import of TFLite models."""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from frontends.tflite.importer import from_tflite as from_tflite
    from frontends.tflite.interface.signatures import SignatureWarning as SignatureWarning
    from frontends.tflite.notes import NotQuantizedWarning as NotQuantizedWarning
    from frontends.tflite.notes import QuantizedFallbackWarning as QuantizedFallbackWarning
    from frontends.tflite.notes import WrappingSumsWarning as WrappingSumsWarning
    from frontends.tflite.notes import WrongInLiteRTWarning as WrongInLiteRTWarning

make_lazy(__name__)
