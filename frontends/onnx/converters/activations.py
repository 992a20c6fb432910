"""Activations as ONNX Runtime computes them, in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import constant_of, spec_of
from qnn_ops.rounded import rounded


def _hard_sigmoid(
    builder: relax.BlockBuilder, data: relax.Expr, alpha: float, beta: float
) -> relax.Expr:
    _check_float(data)
    slope, offset = (relax.const(np.float32(each)) for each in (alpha, beta))
    product = rounded(builder.emit(R.multiply(data, slope)))
    zero, one = (relax.const(np.float32(end)) for end in (0, 1))
    return builder.emit(R.minimum(R.maximum(R.add(product, offset), zero), one))


@converter("HardSigmoid")
def _of_attributes(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    (data,) = operands_of(operands, 1)
    alpha, beta = attributes.get("alpha", 0.2), attributes.get("beta", 0.5)
    return _hard_sigmoid(builder, data, alpha, beta)


@converter("HardSwish")
def _hard_swish(
    builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    """Multiply the data by its HardSigmoid, of which ONNX Runtime makes it."""
    (data,) = operands_of(operands, 1)
    return R.multiply(data, _hard_sigmoid(builder, data, 1 / 6, 0.5))


@converter("Clip")
def _clip(
    _builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Bound the data; an end that is left out is the dtype's: infinities become finite."""
    data, low, high = operands_of(operands, 3)
    dtype = str(spec_of(data).dtype)
    for end, name, bound in ((low, "min", R.maximum), (high, "max", R.minimum)):
        if end is None and name in attributes:
            end = relax.const(np.float32(attributes[name]))
        if end is None and dtype.startswith("float"):
            end = relax.const(getattr(np.finfo(dtype), name), dtype)
        if end is None:
            continue
        known = constant_of(end)
        if known is None or known.size != 1 or known != known:
            raise UnsupportedError("its ends must be constant numbers")
        data = bound(data, relax.const(known.reshape(()), str(known.dtype)))
    return data


@converter("PRelu")
def _prelu(
    _builder: relax.BlockBuilder, operands: Operands, _attributes: dict[str, Any]
) -> relax.Expr:
    data, slope = operands_of(operands, 2)
    _check_float(data)
    is_negative = R.less(data, relax.const(np.float32(0)))
    return R.where(is_negative, R.multiply(data, slope), data)


@converter("ThresholdedRelu")
def _thresholded_relu(
    _builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    """Return what is above a number, and 0 for the rest and for NaN."""
    (data,) = operands_of(operands, 1)
    _check_float(data)
    alpha, zero = (relax.const(np.float32(each)) for each in (attributes.get("alpha", 1.0), 0))
    return R.where(R.greater(data, alpha), data, zero)


def _check_float(data: relax.Expr) -> None:
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("its data must be float32")
