"""STABLEHLO_GATHER."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.fixed_point import number
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import StablehloGatherOptions
from qnn_ops.errors import QnnError

DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32")
"""Types that LiteRT gathers and scatters."""

_MOST_ELEMENTS = 1 << 24


@data_converter("STABLEHLO_GATHER")
def convert_stablehlo_gather(ctx: Context) -> relax.Expr:
    """Take slices of one size at places; one that would reach beyond an end lies at it."""
    data, places, options = ctx.input(0), ctx.input(1), ctx.options(StablehloGatherOptions)
    shape, sizes = data.shape, options.slice_sizes
    rank, dtype = len(shape), data.tensor.dtype
    if dtype not in DTYPES:
        raise UnsupportedError(f"of {dtype}")
    if len(sizes) != rank or not all(0 <= s <= n for s, n in zip(sizes, shape, strict=True)):
        raise QnnError(f"slice_sizes {sizes} of a tensor of shape {shape}")
    check_dims("collapsed_slice_dims", options.collapsed_slice_dims, rank)
    check_dims("start_index_map", options.start_index_map, rank, is_sorted=False)
    kept = [axis for axis in range(rank) if axis not in options.collapsed_slice_dims]
    rows = index_rows(ctx, places, options.index_vector_dim, len(options.start_index_map))
    batch = without(places.shape, options.index_vector_dim)
    count = len(batch) + len(kept)
    check_dims("offset_dims", options.offset_dims, count)
    # LiteRT gives the result the rank that the file states.
    if len(options.offset_dims) != len(kept) or len(ctx.output().shape) != count:
        raise QnnError(f"offset_dims {options.offset_dims} for slices of {len(kept)} axes")
    window = [sizes[axis] for axis in kept]
    if 0 in shape and 0 not in (*batch, *window):
        raise UnsupportedError(f"{data.tensor.label} has no elements")
    if 0 in (*batch, *window):
        order = [*batch, *window]
        return R.zeros([order[axis] for axis in slice_order(options.offset_dims, count)], dtype)
    strides = strides_of(shape)
    last = [shape[axis] - sizes[axis] for axis in options.start_index_map]
    steps = [strides[axis] for axis in options.start_index_map]
    inside = R.maximum(R.minimum(rows, _row(last)), number(0))
    begins = R.sum(ctx.builder.emit(R.multiply(inside, _row(steps))), [1], keepdims=True)
    check_slices(window)
    grid = np.indices(window).reshape(len(window), prod(window))
    offsets = sum((grid[i] * strides[axis] for i, axis in enumerate(kept)), np.zeros((), np.int64))
    flat = ctx.builder.emit(R.add(begins, _row(np.reshape(offsets, -1).tolist())))
    taken = R.take(reshaped(data.expr, (prod(shape),)), flat, 0, "clip")
    slices = ctx.builder.emit(reshaped(ctx.builder.emit(taken), (*batch, *window)))
    return R.permute_dims(slices, slice_order(options.offset_dims, count)) if count else slices


def slice_order(axes: Sequence[int], count: int) -> list[int]:
    """Return of which axis, of places and then of slices, each of several is.

    Args:
        axes: those that are of slices.
        count: of all axes.
    """
    first = count - len(axes)
    batch, slices = iter(range(first)), iter(range(first, count))
    return [next(slices) if axis in axes else next(batch) for axis in range(count)]


def check_dims(name: str, axes: Sequence[int], rank: int, *, is_sorted: bool = True) -> None:
    """Check that an option names axes, each once.

    Raises:
        QnnError: it does not, or not in order where that is asked for.
    """
    is_other = is_sorted and list(axes) != sorted(axes)
    if len(set(axes)) < len(axes) or is_other or not all(0 <= axis < rank for axis in axes):
        raise QnnError(f"{name} must be axes of {rank}, each once, got {tuple(axes)}")


def check_slices(window: Sequence[int]) -> None:
    """Check that a table may have the place of each element of a slice.

    Raises:
        UnsupportedError: it would be too large.
    """
    if prod(window) > _MOST_ELEMENTS:
        raise UnsupportedError(f"slices of {prod(window)} elements")


def without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return a shape that lacks an axis."""
    return (*shape[:axis], *shape[axis + 1 :])


def strides_of(shape: Sequence[int]) -> list[int]:
    """Return how many elements a step along each axis is."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def index_rows(ctx: Context, places: Operand, axis: int, depth: int) -> relax.Expr:
    """Return places as rows of so many int64 numbers, which stand along an axis.

    Raises:
        UnsupportedError: they are no integers.
        QnnError: there is no such axis, or it has another size.
    """
    shape, dtype = places.shape, places.tensor.dtype
    if dtype not in ("int32", "int64"):
        raise UnsupportedError(f"places of {dtype}")
    # Where the axis is one more than there are, LiteRT reads beyond the shape.
    if not 0 <= axis < len(shape) or shape[axis] != depth:
        raise QnnError(f"index_vector_dim {axis}, for {depth} numbers, of places of {shape}")
    order = [*(each for each in range(len(shape)) if each != axis), axis]
    moved = ctx.builder.emit(R.permute_dims(R.astype(places.expr, "int64"), order))
    return ctx.builder.emit(reshaped(moved, (prod(without(shape, axis)), depth)))


def _row(numbers: Sequence[int]) -> relax.Expr:
    return relax.const(np.array([numbers], np.int64), "int64")
