"""Quantized operators that have no integer rule: computed in float32 between two conversions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from tvm import relax

from frontends.tflite.converters.context import Context, Operand
from frontends.tflite.converters.quantize import quantized, real
from frontends.tflite.model import Tensor
from frontends.tflite.operators import Rule

_QUANTIZED = ("int8", "uint8")


class QuantizedFallbackWarning(UserWarning):
    """A quantized operator is computed in float32, so its results may differ from TFLite's."""


@dataclass(frozen=True)
class _RealContext(Context):
    """Shows a float rule the real values of quantized operands."""

    def operand(self, tensor: Tensor) -> Operand:
        operand = super().operand(tensor)
        if tensor.dtype not in _QUANTIZED:
            return operand
        return Operand(tensor, self.builder.emit(real(operand)))


def convert_in_float(rule: Rule, ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Apply a float rule to a quantized operator; the caller tells the user."""
    results = rule(_RealContext(ctx.model, ctx.operator, ctx.builder, ctx.values))
    if not isinstance(results, list):
        return quantized(results, ctx.output())
    return [quantized(result, ctx.output(i)) for i, result in enumerate(results)]


def warn_of_fallback(where: str) -> None:
    """Warn the caller of the importer once about one operator."""
    warnings.warn(
        f"{where}: there is no integer rule for this quantized operator; it is computed in "
        "float32 between dequantize and quantize, and may differ from TFLite by a rounding",
        QuantizedFallbackWarning,
        stacklevel=5,
    )
