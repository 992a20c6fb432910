"""_contrib_quantized_conv and _contrib_quantized_fully_connected, which give sums of 32 bits."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.convolution import pair
from frontends.mxnet.converters.quantization import Range, check_quantized, range_at
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.scalars import (
    INT32_LEVELS,
    Array,
    Value,
    divide,
    levels,
    multiply,
    narrow_levels,
    negative,
)
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.attributes import dtype_range
from qnn_ops.errors import QnnError


def product_range(data_dtype: str, first: Range, second: Range) -> Range:
    """Return the real values that -2^31 and 2^31 mean in sums of products of int8 and 8-bit data.

    Source: QuantizationRangeForMultiplication of MXNet's quantization_utils.h. It assumes that only
    the second operand may be uint8. Convolutions call it so, but dense layers do not: their numbers
    are the same except for the last bit.

    Args:
        data_dtype: the data's dtype.
        first: range of an operand.
        second: range of the other one.
    """
    step = divide(first.magnitude, narrow_levels("int8"))
    other = divide(second.magnitude, narrow_levels(data_dtype))
    high = multiply(multiply(step, other), INT32_LEVELS)
    return Range(negative(high), high)


def int32_parameter(ctx: Context, bias: Array | None) -> relax.Var | None:
    """Return a bias of whole numbers as an int32 parameter; None if there is none."""
    if bias is None:
        return None
    low, high = dtype_range("int32")
    return ctx.parameter(np.clip(bias.astype(np.float64), low, high).astype(np.int32), "_bias")


def saturated_int32(value: relax.Expr) -> relax.Expr:
    """Return a float32 expression as int32, rounded half to even."""
    # float32 has no 2^31 - 1, so that end comes after the cast, which must be defined.
    whole = R.astype(R.clip(R.round(value), -(2.0**31), 2.0**31), "int64")
    return R.astype(R.minimum(whole, relax.const(2**31 - 1, "int64")), "int32")


def rows_of(ctx: Context, depth: int, *, flatten: bool) -> relax.Expr:
    """Return the data of a dense layer as rows of ``depth`` values.

    Args:
        ctx: the operator; the data is its first input.
        depth: the length of the weight's rows.
        flatten: whether all axes but the first make one row; otherwise the last one does.

    Raises:
        QnnError: the rows have another length.
    """
    shape = ctx.shape(0)
    length = prod(shape[1:]) if flatten else shape[-1]
    if length != depth:
        raise QnnError(f"the data has rows of {length} values, the weight takes {depth}")
    if not flatten or len(shape) == 2:
        return ctx.expr(0)
    return ctx.emit(R.reshape(ctx.expr(0), (shape[0], depth)))


@converter("_contrib_quantized_conv")
def convert_quantized_conv(ctx: Context) -> list[Value]:
    """Return the sums of a convolution.

    MXNet reports their range as if the data were int8, and adds the bias unscaled, in its own
    steps; the corrected semantics do neither.
    """
    if len(ctx.shape(0)) != 4 or ctx.attrs.text("layout", "NCHW") != "NCHW":
        raise UnsupportedError("only images of layout NCHW are supported")
    dtype = check_quantized(ctx, 0)
    weight, bias, ranges = _constants(ctx)
    if weight.ndim != 4 or weight.shape[2:] != pair(ctx, "kernel", None, 1):
        raise QnnError(f"the weight's shape {weight.shape} does not fit attribute kernel")
    scaled: Value | None = bias
    if bias is not None and ctx.is_corrected:
        scaled = _scaled_bias(ctx, bias, dtype, ranges)
    known = scaled if isinstance(scaled, np.ndarray) else None
    sums: relax.Expr = quantized_conv2d(
        ctx.expr(0),
        ctx.parameter(weight, "_kernel"),
        input_scale=1.0,
        input_zero_point=0,
        kernel_scale=1.0,
        kernel_zero_point=0,
        output_scale=1.0,
        output_zero_point=0,
        out_dtype="int32",
        strides=pair(ctx, "stride", 1, 1),
        padding=pair(ctx, "pad", 0, 0),
        dilation=pair(ctx, "dilate", 1, 1),
        groups=ctx.attrs.integer("num_group", 1),
        data_layout="NCHW",
        kernel_layout="OIHW",
        bias=int32_parameter(ctx, known),
    )
    if scaled is not None and known is None:
        sums = _saturated_sum(ctx.emit(sums), R.reshape(ctx.emit(scaled), (1, -1, 1, 1)))
    assumed = dtype if ctx.is_corrected else "int8"
    bounds = product_range(assumed, ranges[0], ranges[1])
    return [sums, bounds.low, bounds.high]


@converter("_contrib_quantized_fully_connected")
def convert_quantized_fully_connected(ctx: Context) -> list[Value]:
    """Return the sums of a dense layer; the bias is scaled to them and truncated to whole steps."""
    dtype = check_quantized(ctx, 0)
    weight, bias, ranges = _constants(ctx)
    if weight.ndim != 2:
        raise QnnError(f"the weight must have 2 dimensions, got shape {weight.shape}")
    rows = rows_of(ctx, weight.shape[1], flatten=ctx.attrs.flag("flatten", True))
    kernel = ctx.parameter(weight, "_kernel")
    arguments: tuple[Any, ...] = (rows, kernel, 1.0, 0, 1.0, 0, 1.0, 0, "int32")
    sums: relax.Expr = quantized_dense(*arguments, rounding="onednn")
    if bias is not None:
        scaled = _scaled_bias(ctx, bias, dtype, ranges)
        # In float32, as oneDNN adds it.
        total = R.add(R.astype(ctx.emit(sums), "float32"), _as_expr(ctx, scaled))
        sums = saturated_int32(total)
    bounds = product_range(dtype, ranges[0], ranges[1])
    return [sums, bounds.low, bounds.high]


def _constants(ctx: Context) -> tuple[Array, Array | None, list[Range]]:
    """Return weight, bias and the ranges: of data, weight and, if there is one, bias."""
    has_bias = not ctx.attrs.flag("no_bias", False)
    constants = [ctx.constant(position) for position in range(1, 3 if has_bias else 2)]
    for array in constants:
        if array.dtype != np.int8:
            raise QnnError(f"weight and bias must be int8, got {array.dtype}")
    first = len(constants) + 1
    ranges = [range_at(ctx, first + 2 * number) for number in range(len(constants) + 1)]
    weight = constants[0]
    bias = constants[1] if has_bias else None
    if bias is not None and bias.shape != (len(weight),):
        raise QnnError(f"the bias must have shape ({len(weight)},), got {bias.shape}")
    return weight, bias, ranges


def _scaled_bias(ctx: Context, bias: Array, dtype: str, ranges: list[Range]) -> Value:
    """Return the bias in steps of the sums, as float32 whole numbers."""
    data, weight, own = (bounds.magnitude for bounds in ranges)
    steps = multiply(divide(levels(dtype), data), divide(levels("int8"), weight))
    factor = divide(multiply(steps, own), levels("int8"))
    values = bias.astype(np.float32)
    if isinstance(factor, np.ndarray):
        return np.trunc(values * factor)
    return R.trunc(R.multiply(ctx.parameter(values, "_bias"), factor))


def _saturated_sum(sums: relax.Expr, bias: relax.Expr) -> relax.Expr:
    """Add int32 sums and a bias of float32 whole numbers of any size."""
    whole = R.astype(R.clip(bias, -(2.0**40), 2.0**40), "int64")
    low, high = (relax.const(end, "int64") for end in dtype_range("int32"))
    total = R.add(R.astype(sums, "int64"), whole)
    return R.astype(R.minimum(R.maximum(total, low), high), "int32")


def _as_expr(ctx: Context, value: Value) -> relax.Expr:
    return ctx.parameter(value, "_bias") if isinstance(value, np.ndarray) else value
