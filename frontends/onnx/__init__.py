"""Import of quantized ONNX models."""

from typing import TYPE_CHECKING

from qnn_ops.lazy import make_lazy

if TYPE_CHECKING:
    from frontends.onnx.importer import from_onnx

__all__ = ["from_onnx"]

make_lazy(__name__, {"from_onnx": ("frontends.onnx.importer",)})
