"""Reductions along axes and in windows, MEAN and CUMSUM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.splits import split
from frontends.tflite.axes import axis_of
from frontends.tflite.converters.context import Context, per_tensor, reshaped
from frontends.tflite.converters.control import subgraph
from frontends.tflite.converters.pad import check_axes, spread
from frontends.tflite.converters.plain import zero_points
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import (
    converter,
    data_converter,
    float_converter,
    int16_converter,
    unscaled_converter,
)
from frontends.tflite.options import (
    CumsumOptions,
    ReducerOptions,
    ReduceWindowOptions,
    StablehloReduceWindowOptions,
)
from qnn_ops import quantized_mean, reduce_windows, requantize
from qnn_ops.errors import QnnError
from qnn_ops.reduce_windows import window_counts
from qnn_ops.registry import spec_of

_REDUCTIONS: dict[str, Callable[..., relax.Expr]] = {
    "MEAN": R.mean,
    "REDUCE_MAX": R.max,
    "REDUCE_MIN": R.min,
    "REDUCE_PROD": R.prod,
    "SUM": R.sum,
}


def axes_of(ctx: Context) -> list[int]:
    """Read the axes of a reduction from its second input, each once, counted from the front."""
    # A scalar has no axes, whatever the operand says.
    rank, axes = len(ctx.input(0).shape), ctx.integers(1)
    return sorted({axis_of(axis, rank) for axis in axes}) if rank else []


def reduced(
    ctx: Context, reduce: Callable[[relax.Expr, list[int], bool], relax.Expr]
) -> relax.Expr:
    """Return a reduction of the first input; one along no axis is along one more, of size 1."""
    data, axes = ctx.input(0), axes_of(ctx)
    if axes:
        return reduce(data.expr, axes, ctx.options(ReducerOptions).keep_dims)
    longer = ctx.builder.emit(reshaped(data.expr, (*data.shape, 1)))
    return reduce(longer, [len(data.shape)], False)


def _reduce(ctx: Context) -> relax.Expr:
    code, data = ctx.operator.code, ctx.input(0)
    if 0 not in data.shape:
        return reduced(ctx, _REDUCTIONS[code])
    if code == "MEAN":
        raise UnsupportedError(f"the mean of {data.tensor.label}, which has no elements")
    axes, keep = axes_of(ctx), ctx.options(ReducerOptions).keep_dims
    sizes = enumerate(data.shape)
    shape = [1 if axis in axes else size for axis, size in sizes if keep or axis not in axes]
    dtype = spec_of(data.expr).dtype
    return R.full(shape, relax.const(_of_nothing(code, dtype), dtype), dtype)


def _of_nothing(code: str, dtype: str) -> float | int:
    """Return the value with which a reduction begins."""
    info = np.finfo(dtype) if dtype == "float32" else np.iinfo(dtype)
    begins = {"REDUCE_MAX": info.min, "REDUCE_MIN": info.max, "REDUCE_PROD": 1, "SUM": 0}
    return float(begins[code]) if dtype == "float32" else int(begins[code])


@converter("SUM")
def convert_sum(ctx: Context) -> relax.Expr:
    """Add up along constant axes, in int32, and bring the sum to the result's scale.

    LiteRT 2.3.0's reference kernel takes int8 for uint8; this is what it does with uint8.
    """
    data, result = ctx.input(0), ctx.output()
    if 0 in data.shape:
        return _reduce(ctx)
    scale, point = data.quantization

    def add(expr: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        count = prod(spec_of(expr).shape[axis] for axis in axes)
        total = ctx.builder.emit(R.sum(ctx.builder.emit(R.astype(expr, "int32")), axes, keep))
        return requantize(total, scale, point * count, *per_tensor(result), result.dtype)

    return reduced(ctx, add)


@int16_converter("REDUCE_MAX", "REDUCE_MIN")
@converter("REDUCE_MAX", "REDUCE_MIN")
def convert_extremum(ctx: Context) -> relax.Expr:
    """Return the largest (smallest) integer along constant axes."""
    check_same_quantization(ctx.tensor(0), ctx.output())
    return _reduce(ctx)


@float_converter(*_REDUCTIONS)
def convert_float_reduction(ctx: Context) -> relax.Expr:
    """Return a reduction along constant axes."""
    return _reduce(ctx)


@int16_converter("MEAN")
@converter("MEAN")
def convert_mean(ctx: Context) -> relax.Expr:
    """Return the mean along constant axes."""
    data, result = ctx.input(0), ctx.output()
    encodings = (*data.quantization, *per_tensor(result), result.dtype)
    return reduced(ctx, lambda expr, axes, keep: quantized_mean(expr, axes, keep, *encodings))


@unscaled_converter("MEAN", "SUM")
def convert_unscaled_mean(ctx: Context) -> relax.Expr:
    """Return the result's zero point: of scales that are 0, LiteRT makes a multiplier of 0."""

    def fill(expr: relax.Expr, axes: list[int], keep: bool) -> relax.Expr:
        return zero_points(ctx.output(), spec_of(ctx.builder.typed(R.max(expr, axes, keep))).shape)

    return reduced(ctx, fill)


_MOST_FLOATS = 128  # each of them is a step of its own


@data_converter("CUMSUM")
def convert_cumsum(ctx: Context) -> relax.Expr:
    """Add up along an axis, from its begin or from its end."""
    options, data = ctx.options(CumsumOptions), ctx.input(0)
    dtype, shape = data.tensor.dtype, data.shape
    axis = axis_of(ctx.integer(1), len(shape))
    if 0 in shape:
        return R.zeros(shape, dtype)
    expr = ctx.builder.emit(R.flip(data.expr, axis)) if options.reverse else data.expr
    if options.exclusive:
        expr = _moved(ctx, expr, shape, axis, 1)
    if dtype == "float32":
        sums = _one_by_one(ctx, expr, shape, axis)
    elif dtype in ("int32", "int64"):
        sums = _by_doubling(ctx, expr, shape, axis)
    else:
        raise UnsupportedError(f"of {dtype}")
    return R.flip(ctx.builder.emit(sums), axis) if options.reverse else sums


def _moved(
    ctx: Context, expr: relax.Expr, shape: Sequence[int], axis: int, count: int
) -> relax.Expr:
    """Move elements on, with zeros behind them."""
    size = shape[axis]
    zeros = R.zeros([*shape[:axis], min(count, size), *shape[axis + 1 :]], ctx.output().dtype)
    if count >= size:
        return zeros
    first = R.strided_slice(expr, [axis], [0], [size - count])
    return ctx.builder.emit(R.concat([zeros, ctx.builder.emit(first)], axis))


def _by_doubling(ctx: Context, expr: relax.Expr, shape: Sequence[int], axis: int) -> relax.Expr:
    """Add up integers, which are the same in any order, in as many steps as the size has bits."""
    count = 1
    while count < shape[axis]:
        expr = ctx.builder.emit(R.add(expr, _moved(ctx, expr, shape, axis, count)))
        count *= 2
    return expr


def _one_by_one(ctx: Context, expr: relax.Expr, shape: Sequence[int], axis: int) -> relax.Expr:
    """Add up in the order in which LiteRT does."""
    if shape[axis] > _MOST_FLOATS:
        raise UnsupportedError(f"of {shape[axis]} numbers of float32")
    sums: list[relax.Expr] = []
    for part in split(ctx.builder, expr, [1] * shape[axis], axis):
        sums.append(ctx.builder.emit(R.add(sums[-1], part)) if sums else ctx.builder.emit(part))
    return R.concat(sums, axis) if len(sums) > 1 else sums[0]


_DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
_MOST_AXES = 6  # that LiteRT takes
_WINDOW_REDUCTIONS = {
    "ADD": "add",
    "ALL": "all",
    "ANY": "any",
    "MAXIMUM": "maximum",
    "MINIMUM": "minimum",
    "MUL": "multiply",
}
_FUNCTIONS = {
    **{f"{start}ADD": "ADD" for start in ("", "STABLEHLO_")},
    **{f"{start}MAXIMUM": "MAXIMUM" for start in ("", "STABLEHLO_")},
    **{f"{start}MINIMUM": "MINIMUM" for start in ("", "STABLEHLO_")},
    **dict.fromkeys(("MUL", "STABLEHLO_MULTIPLY"), "MUL"),
    **dict.fromkeys(("LOGICAL_AND", "STABLEHLO_AND"), "ALL"),
    **dict.fromkeys(("LOGICAL_OR", "STABLEHLO_OR"), "ANY"),
}
"""How a subgraph's one operator reduces."""


@data_converter("STABLEHLO_REDUCE_WINDOW")
def convert_stablehlo_reduce_window(ctx: Context) -> relax.Expr:
    """Reduce windows of what a value is put around and between."""
    options, rank = ctx.options(StablehloReduceWindowOptions), len(ctx.input(0).shape)
    codes = [each.code for each in subgraph(ctx, options.body_subgraph_index).operators]
    if len(codes) != 1 or codes[0] not in _FUNCTIONS:
        raise UnsupportedError(f"combines numbers by {', '.join(codes) or 'nothing'}")
    dilations = check_axes("base_dilations", options.base_dilations, rank, 1)
    if len(options.padding) != 2 * rank:
        raise QnnError(f"padding must have {2 * rank} numbers, got {options.padding}")
    low, high = (check_axes("padding", options.padding[i::2], rank, -(2**31 - 1)) for i in (0, 1))
    between = [dilation - 1 for dilation in dilations]
    data, start = _operands(ctx)
    if 0 in ctx.input(0).shape:
        raise UnsupportedError(f"{ctx.tensor(0).label} has no elements")
    padded = spread(ctx.builder, data, start, low, high, between)
    if 0 in spec_of(ctx.builder.typed(padded)).shape:
        raise UnsupportedError("padding leaves no elements")
    window, strides, steps = (
        getattr(options, f"window_{name}") for name in ("dimensions", "strides", "dilations")
    )
    return _reduced(ctx, padded, start, _FUNCTIONS[codes[0]], window, strides, steps)


@data_converter("REDUCE_WINDOW")
def convert_reduce_window(ctx: Context) -> relax.Expr:
    """Reduce windows, whose sizes, strides and dilations are operands."""
    data, start = _operands(ctx)
    operands = [ctx.integers(place, ("int64",)) for place in (2, 3, 4)]
    function = ctx.options(ReduceWindowOptions).reduce_function
    if function == "UNSUPPORTED":
        raise UnsupportedError("states no function")
    return _reduced(ctx, data, start, function, *operands)


def _operands(ctx: Context) -> tuple[relax.Expr, relax.Expr]:
    """Return the data, and the value with which each window begins."""
    data, start, dtype = ctx.input(0), ctx.input(1), ctx.output().dtype
    types = {data.tensor.dtype, start.tensor.dtype}
    if types != {dtype} or dtype not in _DTYPES or not 0 < len(data.shape) <= _MOST_AXES:
        raise UnsupportedError(f"from {sorted(types)} of shape {data.shape} to {dtype}")
    if prod(start.shape) != 1:
        raise QnnError(f"{start.tensor.label} must be one value, is of shape {start.shape}")
    return data.expr, reshaped(start.expr, ())


def _reduced(
    ctx: Context,
    data: relax.Expr,
    start: relax.Expr,
    function: str,
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> relax.Expr:
    """Combine the elements of each window, one after the other in their order."""
    emit, data = ctx.builder.emit, ctx.builder.emit(data)
    shape, dtype = spec_of(data).shape, ctx.output().dtype
    for name, values in (("sizes", window), ("strides", strides), ("dilations", dilations)):
        check_axes(f"the windows' {name}", values, len(shape), 1)
    counts = window_counts(shape, window, strides, dilations)
    if 0 in counts:
        return R.zeros(counts, dtype)
    if dtype == "bool" and function in ("ADD", "MUL"):
        raise UnsupportedError(f"{function} of bool, which gives other bytes than 0 and 1")
    first = emit(reshaped(start, (1,)))
    if dtype == "bool":
        data, first = (emit(R.astype(each, "int8")) for each in (data, first))
    reduction = _WINDOW_REDUCTIONS[function]
    result = emit(reduce_windows(data, first, window, strides, dilations, reduction))
    return R.astype(result, "bool") if dtype == "bool" else result
