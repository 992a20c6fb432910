"""DynamicQuantizeLinear."""

from __future__ import annotations

from math import prod
from typing import Any

from tvm import relax
from tvm.relax import op as R

from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops import dynamic_encoding, dynamic_quantize
from qnn_ops.onnxruntime import ONNXRUNTIME
from qnn_ops.registry import spec_of

_LOWEST = -128  # the zero point that is 0 as uint8


@converter("DynamicQuantizeLinear")
def _dynamic_quantize_linear(
    builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    """Return the bytes of a tensor, its scale and its zero point."""
    (data,) = operands_of(operands, 1)
    shape, emit = spec_of(data).shape, builder.emit
    row = emit(R.reshape(data, (1, prod(shape))))
    encoding = emit(dynamic_encoding(row, True, arithmetic=ONNXRUNTIME))
    values = emit(dynamic_quantize(row, encoding, "uint8", arithmetic=ONNXRUNTIME))

    def field(number: int) -> relax.Expr:
        column = emit(R.strided_slice(encoding, [1], [number], [number + 1]))
        return emit(R.reshape(column, ()))

    steps = R.subtract(R.astype(field(2), "int32"), relax.const(_LOWEST, "int32"))
    point = emit(R.astype(steps, "uint8"))
    return relax.Tuple([emit(R.reshape(values, shape)), field(0), point])
