"""MXNet's quantized operators other than layers: sums, concatenations, movement."""

from __future__ import annotations

from functools import reduce
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.products import saturated_int32
from frontends.mxnet.converters.quantization import (
    Range,
    calibrated_range,
    check_quantized,
    quantized,
    range_at,
    real,
    rescaled,
)
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.scalars import (
    INT32_LEVELS,
    Array,
    Value,
    add,
    divide,
    levels,
    maximum,
    minimum,
    multiply,
    negative,
    scalar,
)
from qnn_ops import fused_multiply_add, quantized_concat, quantized_relu
from qnn_ops.errors import QnnError
from qnn_ops.rounded import rounded


@converter("_contrib_quantized_elemwise_add")
def convert_quantized_elemwise_add(ctx: Context) -> list[Value]:
    """Add two tensors: to 8 bits by the calibrated range, or to 32 bits.

    Both are rescaled to the result, and the sum is rounded. If one is uint8 and the other int8, the
    former is first rounded to int8.
    """
    dtypes = [check_quantized(ctx, position) for position in (0, 1)]
    ranges = [range_at(ctx, 2), range_at(ctx, 4)]
    calibrated = calibrated_range(ctx)
    if calibrated is not None:
        dtype = "uint8" if dtypes == ["uint8", "uint8"] else "int8"
        steps = calibrated.steps_per_unit(dtype)
        factors = [
            divide(steps, divide(levels(own), bounds.magnitude))
            for own, bounds in zip(dtypes, ranges, strict=True)
        ]
        total = _sum(ctx, dtypes, factors)
        return [quantized(total, scalar(1), dtype), calibrated.low, calibrated.high]
    high = add(ranges[0].magnitude, ranges[1].magnitude)
    factors = [_int32_factor(own, bounds, high) for own, bounds in zip(dtypes, ranges, strict=True)]
    return [saturated_int32(_sum(ctx, dtypes, factors)), negative(high), high]


def _int32_factor(dtype: str, bounds: Range, high: Value) -> Value:
    """Compute the steps of the 32-bit sum in a step of a term."""
    return divide(multiply(bounds.magnitude, INT32_LEVELS), multiply(high, levels(dtype)))


def _sum(ctx: Context, dtypes: list[str], factors: list[Value]) -> relax.Expr:
    terms = []
    for position, (dtype, factor) in enumerate(zip(dtypes, factors, strict=True)):
        data = ctx.expr(position)
        if len(set(dtypes)) > 1 and dtype == "uint8":
            integers = ctx.emit(rescaled(data, factor, "int8"))
            terms.append(R.astype(integers, "float32"))
            continue
        terms.append(rounded(ctx.emit(real(data, factor))))
    return ctx.emit(R.add(*terms))


@converter("_contrib_quantized_concat")
def convert_quantized_concat(ctx: Context) -> list[Value]:
    """Concatenate tensors, each rescaled to the range that covers all of them.

    The result is int8 if one of them is. Tensors that have its scale are copied.
    """
    count = ctx.attrs.integer("num_args")
    if count < 1 or ctx.arity != 3 * count:
        raise QnnError(f"needs {3 * max(count, 1)} inputs, has {ctx.arity}")
    dtypes = [check_quantized(ctx, position) for position in range(count)]
    ranges = [range_at(ctx, count + 2 * number) for number in range(count)]
    dtype = "int8" if "int8" in dtypes else "uint8"
    covering = Range(
        reduce(minimum, [bounds.low for bounds in ranges], scalar(0)),
        reduce(maximum, [bounds.high for bounds in ranges], scalar(0)),
    )
    parts = [_in_range(ctx, number, ranges[number], covering, dtype) for number in range(count)]
    axis = ctx.attrs.integer("dim", 1)
    # All of them have the same scale now; its value does not matter.
    joined = quantized_concat(parts, [1.0] * count, [0] * count, 1.0, 0, dtype, axis=axis)
    return [joined, covering.low, covering.high]


def _in_range(
    ctx: Context, position: int, bounds: Range, covering: Range, dtype: str
) -> relax.Expr:
    data = ctx.expr(position)
    own = bounds.steps_per_unit(ctx.dtype(position))
    wanted = covering.steps_per_unit(dtype)
    if isinstance(own, np.ndarray) and isinstance(wanted, np.ndarray) and own == wanted:
        return data
    # Ranges may be known only at run time: a factor of one copies.
    return ctx.emit(rescaled(data, divide(wanted, own), dtype))


@converter("_contrib_quantized_flatten")
def convert_quantized_flatten(ctx: Context) -> list[Value]:
    """Make one axis of all but the first."""
    shape, bounds = ctx.shape(0), range_at(ctx, 1)
    flat = R.reshape(ctx.expr(0), (shape[0], prod(shape[1:])))
    return [flat, bounds.low, bounds.high]


@converter("_contrib_quantized_act")
def convert_quantized_act(ctx: Context) -> list[Value]:
    """Rectify int8; the result keeps the dtype, and does not use its lower half.

    MXNet declares the result int8 for any data. The effect on uint8 data depends on their layout in
    memory: their bytes are read as signed, or their values count twice.
    """
    kind = ctx.attrs.text("act_type")
    if kind != "relu":
        raise UnsupportedError(f"act_type {kind}")
    dtype, bounds = check_quantized(ctx, 0), range_at(ctx, 1)
    if dtype != "int8":
        raise UnsupportedError(f"data of {dtype}, of which MXNet takes the result for int8")
    # Any scale serves: the values stay the same, except for the clamp.
    rectified = quantized_relu(ctx.expr(0), 1.0, 0, 1.0, 0, dtype)
    return [rectified, bounds.low, bounds.high]


@converter("_contrib_quantized_batch_norm")
def convert_quantized_batch_norm(ctx: Context) -> list[Value]:
    """Return a batch normalization of int8 data; uint8 data is first rounded to int8."""
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

    Source: quantized_batch_norm.cc and mkldnn_quantized_batch_norm.cc of MXNet 1.9.1. They ignore
    fix_gamma. The scale and shift assume a variance of one, to which oneDNN adds eps again.
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
