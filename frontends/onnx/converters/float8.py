"""Numbers of float8, as float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.quantize_linear import Encoding
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of

_FORMS = {
    "float8_e4m3fn": (3, -6, 448.0),
    "float8_e4m3fnuz": (3, -7, 240.0),
    "float8_e5m2": (2, -14, 57344.0),
    "float8_e5m2fnuz": (2, -15, 57344.0),
}
"""Bits of a fraction, the exponent of the least number that has all of them, and the largest."""


@converter("QuantizeFloat8")
def _quantize(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Round x / scale to the nearest number, ties to even, between the largest ones; NaN stays."""
    data, scale = operands_of(operands, 2)
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("real numbers must be float32")
    emit, kind = builder.emit, attributes["dtype"].decode()
    if kind not in _FORMS:
        raise UnsupportedError(f"{kind} is not imported")
    bits, least, most = _FORMS[kind]
    ratio = emit(R.divide(data, Encoding(builder, data, scale, None, attributes).scales()))
    size, step = emit(R.abs(ratio)), relax.const(np.float32(2.0 ** (least - bits)))
    for exponent in range(least + 1, int(np.log2(most)) + 1):
        is_above = emit(R.greater_equal(size, relax.const(np.float32(2.0**exponent))))
        step = emit(R.where(is_above, relax.const(np.float32(2.0 ** (exponent - bits))), step))
    nearest = emit(R.multiply(emit(R.round(emit(R.divide(ratio, step)))), step))
    lowest, highest = (relax.const(np.float32(end)) for end in (-most, most))
    bounded = emit(R.minimum(emit(R.maximum(nearest, lowest)), highest))
    return R.where(emit(R.equal(ratio, ratio)), bounded, ratio)


@converter("DequantizeFloat8")
def _dequantize(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, scale = operands_of(operands, 2)
    return R.multiply(data, Encoding(builder, data, scale, None, attributes).scales())
