"""SCATTER_ND, SPARSE_TO_DENSE and the operators of segments: values put where places say."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.registry import data_converter
from qnn_ops import QnnError, scatter_rows

_DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float32")
REDUCTIONS: dict[str, tuple[str, Any]] = {
    "UNSORTED_SEGMENT_MAX": ("maximum", lambda info: info.min),
    "UNSORTED_SEGMENT_MIN": ("minimum", lambda info: info.max),
    "UNSORTED_SEGMENT_PROD": ("multiply", lambda info: 1),
    "UNSORTED_SEGMENT_SUM": ("add", lambda info: 0),
}
"""What segments are reduced by, which numpy calls so too, and what one of nothing is."""


@data_converter("SCATTER_ND")
def convert_scatter_nd(ctx: Context) -> relax.Expr:
    """Add parts to zeros at places along the first axes; the last axis of the places tells one."""
    places, parts, shape = ctx.input(0), ctx.input(1), ctx.integers(2)
    dtype, rank = parts.tensor.dtype, len(places.shape) - 1
    if dtype not in _DTYPES or places.tensor.dtype != "int32":
        raise UnsupportedError(f"{dtype} at places of {places.tensor.dtype}")
    depth = places.shape[-1] if places.shape else 0
    fits = parts.shape == (*places.shape[:rank], *shape[depth:])
    if rank < 0 or not 0 < depth <= len(shape) or min(shape, default=0) < 0 or not fits:
        raise QnnError(f"places of {places.shape} for parts of {parts.shape} in {shape}")
    if 0 in shape or 0 in parts.shape:
        return R.zeros(shape, dtype)
    rows = reshaped(parts.expr, (prod(places.shape[:rank]), prod(shape[depth:])))
    flat = _flat_places(ctx, places, shape[:depth])
    wide = "int32" if dtype == "bool" else dtype
    zeros = R.zeros((prod(shape[:depth]), prod(shape[depth:])), wide)
    summed = _scattered(ctx, zeros, flat, R.astype(rows, wide), "add")
    if dtype == "bool":
        summed = R.not_equal(summed, relax.const(0, wide))
    return reshaped(ctx.builder.emit(R.astype(summed, dtype)), shape)


@data_converter("SPARSE_TO_DENSE")
def convert_sparse_to_dense(ctx: Context) -> relax.Expr:
    """Put values, or one for all, at places in a tensor that is filled with another."""
    places, shape = ctx.input(0), ctx.integers(1, ("int32", "int64"))
    values, filler = ctx.input(2), ctx.input(3)
    dtype = values.tensor.dtype
    allowed = ("int8", "uint8", "int32", "int64", "float32")
    if dtype not in allowed or places.tensor.dtype not in ("int32", "int64"):
        raise UnsupportedError(f"{dtype} at places of {places.tensor.dtype}")
    count, depth = (*places.shape, 1, 1)[:2]
    fits = 0 < len(places.shape) < 3 and depth == len(shape) <= 4 and min(shape, default=0) >= 0
    if not fits or filler.tensor.dtype != dtype or values.shape not in ((), (count,)):
        raise QnnError(f"places of {places.shape} for values of {values.shape} in {shape}")
    if prod(filler.shape) != 1:
        raise QnnError(f"{filler.tensor.label} must be one value, is of shape {filler.shape}")
    filled = R.broadcast_to(reshaped(filler.expr, (1, 1)), (prod(shape), 1))
    if 0 in shape:
        return R.zeros(shape, dtype)
    if count == 0:
        return reshaped(filled, shape)
    flat = _flat_places(ctx, places, shape, count)
    each = R.broadcast_to(reshaped(values.expr, (-1, 1)), (count, 1))
    return reshaped(_scattered(ctx, filled, flat, each, "update"), shape)


@data_converter(*REDUCTIONS)
def convert_segments(ctx: Context) -> relax.Expr:
    """Reduce the rows of each segment; a row of a negative one is left out."""
    return _reduced(ctx, ctx.integer(2), *REDUCTIONS[ctx.operator.code])


@data_converter("SEGMENT_SUM")
def convert_segment_sum(ctx: Context) -> relax.Expr:
    """Sum up the rows of each segment, which are numbered in order."""
    places = ctx.input(1)
    if not places.tensor.is_constant:
        raise UnsupportedError("the shape of its result depends on the data of a run")
    numbers = np.asarray(ctx.constant(1)).astype(np.int64)
    steps = np.diff(numbers, prepend=-1) if numbers.ndim == 1 else np.array([-1])
    if np.any((steps != 0) & (steps != 1)) or (numbers.size and numbers[0] != 0):
        raise QnnError(f"{places.tensor.label} must count segments from 0, in order")
    return _reduced(ctx, int(numbers.max(initial=-1)) + 1, "add", lambda info: 0)


def _reduced(ctx: Context, count: int, reduction: str, begin: Callable[[Any], Any]) -> relax.Expr:
    data, places = ctx.input(0), ctx.input(1)
    dtype, rank = data.tensor.dtype, len(places.shape)
    if dtype not in ("int32", "float32") or places.tensor.dtype != "int32":
        raise UnsupportedError(f"{dtype} in segments of {places.tensor.dtype}")
    if count < 0 or data.shape[:rank] != places.shape:
        raise QnnError(f"segments {places.shape} of data of {data.shape}, {count} of them")
    if places.tensor.is_constant and np.any(ctx.constant(1) >= count):
        raise QnnError(f"{places.tensor.label} has segments beyond {count}")
    rest = data.shape[rank:]
    info = np.finfo(dtype) if dtype == "float32" else np.iinfo(dtype)
    start = relax.const(np.asarray(begin(info), dtype), dtype)
    if 0 in data.shape or count == 0:
        return R.full((count, *rest), start, dtype)
    rows = reshaped(data.expr, (prod(places.shape), prod(rest)))
    # One row more, which takes those of no segment.
    flat = reshaped(places.expr, (prod(places.shape),))
    flat = ctx.builder.emit(R.minimum(flat, relax.const(np.int32(count))))
    flat = R.where(R.less(flat, relax.const(np.int32(0))), relax.const(np.int32(count)), flat)
    full = R.full((count + 1, prod(rest)), start, dtype)
    summed = _scattered(ctx, full, flat, rows, reduction)
    kept = ctx.builder.emit(R.strided_slice(summed, [0], [0], [count]))
    return reshaped(kept, (count, *rest))


def _scattered(
    ctx: Context, data: relax.Expr, places: relax.Expr, rows: relax.Expr, reduction: str
) -> relax.Expr:
    """Put rows at places of the first axis, one after the other."""
    emit = ctx.builder.emit
    return emit(scatter_rows(emit(data), emit(places), emit(rows), reduction))


def _flat_places(
    ctx: Context, places: Operand, sizes: tuple[int, ...], count: int | None = None
) -> relax.Expr:
    """Return one number for each place, within what there is.

    LiteRT ends a run where one is outside.
    """
    depth = len(sizes)
    if places.tensor.is_constant:
        array = np.asarray(ctx.constant(ctx.operator.inputs.index(places.tensor.index)))
        array = array.reshape(-1, depth)
        if np.any(array < 0) or np.any(array >= np.array(sizes)):
            raise QnnError(f"{places.tensor.label} has places outside of {sizes}")
    rows = reshaped(R.astype(places.expr, "int32"), (count or prod(places.shape[:-1]), depth))
    strides = np.array([prod(sizes[axis + 1 :]) for axis in range(depth)], np.int32)
    last = relax.const(np.array([size - 1 for size in sizes], np.int32))
    inside = R.maximum(R.minimum(ctx.builder.emit(rows), last), relax.const(np.int32(0)))
    return ctx.builder.emit(R.sum(R.multiply(inside, relax.const(strides)), [1]))
