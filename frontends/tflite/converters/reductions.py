"""Reductions: the largest and smallest of quantized tensors, and all kinds of float32 ones."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, axis_of, per_tensor, reshaped
from frontends.tflite.converters.quantization import check_same_quantization
from frontends.tflite.converters.registry import converter, float_converter, int16_converter
from frontends.tflite.options import ReducerOptions
from qnn_ops import requantize
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
