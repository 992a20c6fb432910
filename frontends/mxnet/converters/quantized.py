"""MXNet's quantized operators, except fused ones: layers, sums, concatenations, movement.

_contrib_quantized_conv and _contrib_quantized_fully_connected give sums of 32 bits.
"""

from functools import reduce
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context, converter
from frontends.mxnet.converters.layers import pair, window_of
from frontends.mxnet.converters.quantization import (
    Range,
    calibrated_range,
    check_quantized,
    quantized,
    range_at,
    real,
    rescaled,
)
from frontends.mxnet.scalars import (
    INT32_LEVELS,
    Array,
    Number,
    Value,
    is_known,
    levels,
    narrow_levels,
    scalar,
)
from qnn_ops import (
    fused_multiply_add,
    quantized_concat,
    quantized_conv2d,
    quantized_dense,
    quantized_relu,
)
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.errors import QnnError


def product_range(data_dtype: str, first: Range, second: Range) -> Range:
    """Return the real values that -2^31 and 2^31 mean in sums of products of int8 and 8-bit data.

    Source: QuantizationRangeForMultiplication of MXNet's quantization_utils.h. It assumes that only
    the second operand may be uint8. Convolutions call it so, but dense layers do not: their numbers
    are the same except for the last bit.

    Args:
        data_dtype: the data's dtype.
        first: range of an operand.
        second: range of the other operand.
    """
    step = first.magnitude / narrow_levels("int8")
    other = second.magnitude / narrow_levels(data_dtype)
    high = step * other * INT32_LEVELS
    return Range(-high, high)


def int32_parameter(ctx: Context, bias: Array | None) -> relax.Var | None:
    """Return a bias of whole numbers as an int32 parameter; None if there is none."""
    if bias is None:
        return None
    low, high = dtype_range("int32")
    return ctx.parameter(np.clip(bias.astype(np.float64), low, high).astype(np.int32), "_bias")


def bias_array(ctx: Context, bias: Number) -> Any:
    """Return a bias as an ``Expression``; known numbers become a parameter."""
    return ctx.builder.array(ctx.parameter(bias, "_bias")) if is_known(bias) else bias


def saturated_int32(value: Any) -> Any:
    """Return an ``Expression`` of float32 as int32, rounded half to even."""
    # float32 has no 2^31 - 1, so that end comes after the cast, which must be defined.
    whole: Any = np.clip(np.rint(value), -(2.0**31), 2.0**31)
    return np.minimum(whole.astype("int64"), 2**31 - 1).astype("int32")


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


SUMS: tuple[Any, ...] = (1.0, 0, 1.0, 0, 1.0, 0, "int32")
"""The encodings of data, weight and result of a layer that gives int32 sums."""


@converter("_contrib_quantized_conv")
def convert_quantized_conv(ctx: Context) -> list[Value]:
    """Return the sums of a convolution.

    MXNet reports their range as if the data were int8, and adds the bias unscaled, in the bias's
    own steps. The corrected semantics do neither.
    """
    if ctx.rank != 4 or ctx.attrs.text("layout", "NCHW") != "NCHW":
        raise UnsupportedError("only images of layout NCHW are supported")
    dtype = check_quantized(ctx, 0)
    weight, bias, ranges = _constants(ctx)
    if weight.ndim != 4 or weight.shape[2:] != pair(ctx, "kernel", None, 1):
        raise QnnError(f"the weight's shape {weight.shape} does not fit attribute kernel")
    scaled: Number = bias
    if bias is not None and ctx.is_corrected:
        scaled = _scaled_bias(ctx, bias, dtype, ranges)
    kernel, bias = ctx.parameter(weight, "_kernel"), scaled if is_known(scaled) else None
    sums: Any = quantized_conv2d(
        ctx.expr(0), kernel, *SUMS, **window_of(ctx), bias=int32_parameter(ctx, bias)
    )
    if not is_known(scaled):
        # The bias's whole numbers may have any size.
        whole: Any = np.clip(scaled.reshape(1, -1, 1, 1), -(2.0**40), 2.0**40)
        total = ctx.builder.array(ctx.emit(sums)).astype("int64") + whole.astype("int64")
        sums = np.clip(total, *dtype_range("int32")).astype("int32")
    assumed = dtype if ctx.is_corrected else "int8"
    return [sums, *product_range(assumed, ranges[0], ranges[1])]


@converter("_contrib_quantized_fully_connected")
def convert_quantized_fully_connected(ctx: Context) -> list[Value]:
    """Return the sums of a dense layer; the bias is scaled to them and truncated to whole steps."""
    dtype = check_quantized(ctx, 0)
    weight, bias, ranges = _constants(ctx)
    if weight.ndim != 2:
        raise QnnError(f"the weight must have 2 dimensions, got shape {weight.shape}")
    rows = rows_of(ctx, weight.shape[1], flatten=ctx.attrs.flag("flatten", True))
    kernel = ctx.parameter(weight, "_kernel")
    sums: Any = quantized_dense(rows, kernel, *SUMS, rounding="onednn")
    if bias is not None:
        scaled = _scaled_bias(ctx, bias, dtype, ranges)
        # oneDNN adds the bias in float32.
        total = ctx.builder.array(ctx.emit(sums)).astype("float32")
        sums = saturated_int32(total + bias_array(ctx, scaled))
    return [sums, *product_range(dtype, ranges[0], ranges[1])]


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


def _scaled_bias(ctx: Context, bias: Array, dtype: str, ranges: list[Range]) -> Number:
    """Return the bias in steps of the sums, as float32 whole numbers."""
    data, weight, own = (bounds.magnitude for bounds in ranges)
    steps = (levels(dtype) / data) * (levels("int8") / weight)
    factor = steps * own / levels("int8")
    return np.trunc(ctx.beside(factor, bias.astype(np.float32), "_bias") * factor)


@converter("_contrib_quantized_elemwise_add")
def convert_quantized_elemwise_add(ctx: Context) -> list[Value]:
    """Add two tensors: to 8 bits by the calibrated range, or to 32 bits.

    Both are rescaled to the result, and the sum is rounded. If one is uint8 and the other int8, the
    uint8 tensor is first rounded to int8.
    """
    dtypes = [check_quantized(ctx, position) for position in (0, 1)]
    ranges = [range_at(ctx, 2), range_at(ctx, 4)]
    calibrated = calibrated_range(ctx)
    if calibrated is not None:
        dtype = "uint8" if dtypes == ["uint8", "uint8"] else "int8"
        steps = calibrated.steps_per_unit(dtype)
        pairs = zip(dtypes, ranges, strict=True)
        factors = [steps / (levels(own) / bounds.magnitude) for own, bounds in pairs]
        return [quantized(_sum(ctx, dtypes, factors).expr, scalar(1), dtype), *calibrated]
    high = ranges[0].magnitude + ranges[1].magnitude
    factors = [
        bounds.magnitude * INT32_LEVELS / (high * levels(own))
        for own, bounds in zip(dtypes, ranges, strict=True)
    ]
    return [saturated_int32(_sum(ctx, dtypes, factors)), -high, high]


def _sum(ctx: Context, dtypes: list[str], factors: list[Number]) -> Any:
    terms = []
    for position, (dtype, factor) in enumerate(zip(dtypes, factors, strict=True)):
        data, array = ctx.expr(position), ctx.builder.array
        if len(set(dtypes)) > 1 and dtype == "uint8":
            terms.append(array(rescaled(data, factor, "int8")).astype("float32"))
        else:
            terms.append(rounded(array(real(data, factor))))
    return terms[0] + terms[1]


@converter("_contrib_quantized_concat")
def convert_quantized_concat(ctx: Context) -> list[Value]:
    """Concatenate tensors, each rescaled to the range that covers all of them.

    The result is int8 if one of the tensors is. Tensors with the result's scale are copied.
    """
    count = ctx.attrs.integer("num_args")
    if count < 1 or ctx.arity != 3 * count:
        raise QnnError(f"needs {3 * max(count, 1)} inputs, has {ctx.arity}")
    dtypes = [check_quantized(ctx, position) for position in range(count)]
    ranges = [range_at(ctx, count + 2 * number) for number in range(count)]
    dtype = "int8" if "int8" in dtypes else "uint8"
    covering = Range(
        reduce(np.minimum, [bounds.low for bounds in ranges], scalar(0)),
        reduce(np.maximum, [bounds.high for bounds in ranges], scalar(0)),
    )
    parts = [_in_range(ctx, number, ranges[number], covering, dtype) for number in range(count)]
    axis = ctx.attrs.integer("dim", 1)
    # All tensors have the same scale now; its value does not matter.
    joined = quantized_concat(parts, [1.0] * count, [0] * count, 1.0, 0, dtype, axis=axis)
    return [joined, *covering]


def _in_range(
    ctx: Context, position: int, bounds: Range, covering: Range, dtype: str
) -> relax.Expr:
    data = ctx.expr(position)
    own = bounds.steps_per_unit(ctx.dtype(position))
    wanted = covering.steps_per_unit(dtype)
    if is_known(own) and is_known(wanted) and own == wanted:
        return data
    # Ranges may be known only at run time: a factor of one copies.
    return ctx.emit(rescaled(data, wanted / own, dtype))


@converter("_contrib_quantized_flatten")
def convert_quantized_flatten(ctx: Context) -> list[Value]:
    """Join all axes except the first into one."""
    shape = ctx.shape(0)
    return [R.reshape(ctx.expr(0), (shape[0], prod(shape[1:]))), *range_at(ctx, 1)]


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
    return [quantized_relu(ctx.expr(0), 1.0, 0, 1.0, 0, dtype), *bounds]


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
    if not is_known(source):
        raise UnsupportedError("calibrated, but the range of its data is known at run time only")
    weight, bias = _scale_and_shift(ctx, source, calibrated.magnitude)
    if weight.shape != (shape[1],):
        raise QnnError(f"the constants must have shape ({shape[1]},), got {weight.shape}")
    data = ctx.expr(0)
    if check_quantized(ctx, 0) == "uint8":
        data = ctx.emit(rescaled(data, levels("int8") / levels("uint8"), "int8"))
    per_channel = (-1, *[1] * (len(shape) - 2))
    total = fused_multiply_add(
        ctx.emit(R.astype(data, "float32")),
        ctx.parameter(weight.reshape(per_channel), "_weight"),
        ctx.parameter(bias.reshape(per_channel), "_bias"),
    )
    return [quantized(ctx.emit(total), scalar(1), "int8"), *calibrated]


def _scale_and_shift(ctx: Context, source: Number, target: Number) -> tuple[Array, Array]:
    """Compute the factor of a step of the data, and the addend, in steps of the result.

    Source: quantized_batch_norm.cc and mkldnn_quantized_batch_norm.cc of MXNet 1.9.1. They ignore
    fix_gamma. The scale and shift assume a variance of one, to which oneDNN adds eps again.
    """
    gamma, beta, mean, variance = (ctx.constant(n).astype(np.float32) for n in range(1, 5))
    eps = ctx.attrs.real("eps", 1e-3)
    inverse = (1.0 / np.sqrt(variance.astype(np.float64) + eps)).astype(np.float32)
    weight = gamma * inverse * source / target
    bias = (beta - mean * gamma * inverse) * levels("int8") / target
    again = np.sqrt(np.float32(1) + np.float32(eps))
    return (weight / again).astype(np.float32), bias.astype(np.float32)
