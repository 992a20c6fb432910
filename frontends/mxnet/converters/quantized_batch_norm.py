"""_contrib_quantized_batch_norm."""

from __future__ import annotations

import numpy as np
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.quantization import (
    calibrated_range,
    check_quantized,
    quantized,
    range_at,
    rescaled,
)
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.scalars import divide, levels, scalar
from frontends.mxnet.values import Array, Value
from qnn_ops import fused_multiply_add
from qnn_ops.errors import QnnError


@converter("_contrib_quantized_batch_norm")
def convert_quantized_batch_norm(ctx: Context) -> list[Value]:
    """Return a batch normalization of int8 data; uint8 data is rounded to int8 before."""
    calibrated = calibrated_range(ctx)
    if calibrated is None:
        raise UnsupportedError("without a calibrated range, as MXNet's own")
    shape, axis = ctx.shape(0), ctx.attrs.integer("axis", 1)
    if axis % len(shape) != 1:
        raise UnsupportedError(f"axis {axis}; only the second one, as MXNet's own")
    source = range_at(ctx, 5).magnitude
    if not isinstance(source, np.ndarray):
        raise UnsupportedError("calibrated, but the range of its data is known at run time only")
    weight, bias = _scale_and_shift(ctx, source, calibrated.magnitude)
    if weight.shape != (shape[1],):
        raise QnnError(f"the constants must have shape ({shape[1]},), got {weight.shape}")
    data = ctx.expr(0)
    if check_quantized(ctx, 0) == "uint8":
        data = ctx.emit(rescaled(data, divide(levels("int8"), levels("uint8")), "int8"))
    per_channel = (-1, *[1] * (len(shape) - 2))
    total = fused_multiply_add(
        ctx.emit(R.astype(data, "float32")),
        ctx.parameter(weight.reshape(per_channel), "_weight"),
        ctx.parameter(bias.reshape(per_channel), "_bias"),
    )
    return [quantized(ctx.emit(total), scalar(1), "int8"), calibrated.low, calibrated.high]


def _scale_and_shift(ctx: Context, source: Array, target: Value) -> tuple[Array, Array]:
    """Compute the factor of a step of the data, and the addend, in steps of the result.

    Source: quantized_batch_norm.cc and mkldnn_quantized_batch_norm.cc of MXNet 1.9.1. They do
    not look at fix_gamma. The scale and shift take a variance of one, to which oneDNN adds eps
    again.
    """
    gamma, beta, mean, variance = (
        ctx.constant(position).astype(np.float32) for position in range(1, 5)
    )
    eps = ctx.attrs.real("eps", 1e-3)
    inverse = (1.0 / np.sqrt(variance.astype(np.float64) + eps)).astype(np.float32)
    weight = gamma * inverse * source / target
    bias = (beta - mean * gamma * inverse) * levels("int8") / target
    again = np.sqrt(np.float32(1) + np.float32(eps))
    return (weight / again).astype(np.float32), bias.astype(np.float32)
