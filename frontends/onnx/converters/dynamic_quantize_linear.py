"""DynamicQuantizeLinear."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops import dynamic_encoding, dynamic_quantize
from qnn_ops.onnxruntime import ONNXRUNTIME

_LOWEST = -128  # the zero point that is 0 as uint8


@converter("DynamicQuantizeLinear")
def _dynamic_quantize_linear(
    builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    """Return the bytes of a tensor, its scale and its zero point."""
    (data,) = operands_of(operands, 1)
    values, scale, point = quantized(builder, data)
    return relax.Tuple([values, scale, point])


def quantized(
    builder: relax.BlockBuilder | ModuleBuilder, data: relax.Expr
) -> tuple[relax.Expr, relax.Expr, relax.Expr]:
    """Quantize a tensor by its range: bytes, their scale and their zero point."""
    emit = builder.emit
    encoding = emit(dynamic_encoding(data, True, arithmetic=ONNXRUNTIME, whole=True))
    values = emit(dynamic_quantize(data, encoding, "uint8", arithmetic=ONNXRUNTIME))

    def field(number: int) -> relax.Expr:
        column = emit(R.strided_slice(encoding, [0], [number], [number + 1]))
        return emit(R.reshape(column, ()))

    steps = R.subtract(R.astype(field(2), "int32"), relax.const(_LOWEST, "int32"))
    point = emit(R.astype(steps, "uint8"))
    return values, field(0), point
