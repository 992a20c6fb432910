"""GATHER, GATHER_ND and STABLEHLO_GATHER."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, regrouped, reshaped
from frontends.tflite.operators import MOVED, converter
from qnn_ops import counted_indices
from qnn_ops.dialect.checks import check_axis
from qnn_ops.errors import QnnError

_INDICES = ("int16", "int32", "int64")
DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32")
"""The types that LiteRT gathers and scatters."""
_MOST_ELEMENTS = 1 << 24


@converter("GATHER", micro=MOVED, unpacks=("int4",))
def convert_gather(ctx: Context) -> relax.Expr:
    """Return the elements at indices along an axis; each batch has its own indices."""
    options, data, indices = ctx.options, ctx.input(0), ctx.input(1)
    rank, shape, wanted = len(data.shape), data.shape, indices.shape
    axis, batches = check_axis(options.axis, rank), options.batch_dims
    batches += len(wanted) if batches < 0 else 0
    if not 0 <= batches <= min(axis, len(wanted)) or shape[:batches] != wanted[:batches]:
        raise QnnError(f"{options.batch_dims} axes of {shape} and {wanted} are no common batches")
    found = checked_indices(ctx, 1, shape[axis : axis + 1])
    inner = prod(shape[axis + 1 :])
    if ctx.output().packed and inner % 2:
        kind = ctx.output().packed
        raise UnsupportedError(f"rows of {inner} numbers of {kind}, which LiteRT takes for bytes")
    if not batches:
        return take_at(data.expr, found, axis)
    # The batches and the axis become one axis; each batch's indices are shifted along it.
    count, size = prod(shape[:batches]), shape[axis]
    outer = prod(shape[batches:axis])
    folded = regrouped(ctx, data.expr, (count, outer, size, inner), [0, 2, 1, 3])
    rows = ctx.emit(reshaped(folded, (count * size, outer, inner)))
    starts = np.arange(count, dtype=np.int32)[:, np.newaxis] * size
    each = R.astype(reshaped(found, (count, prod(wanted[batches:]))), "int32")
    inside: Any = np.clip(ctx.builder.array(each), 0, max(size - 1, 0))
    taken = take_at(rows, (inside + starts).expr, 0)
    ordered = ctx.emit(R.permute_dims(ctx.emit(taken), [0, 2, 1, 3]))
    return reshaped(ordered, (*shape[:axis], *wanted[batches:], *shape[axis + 1 :]))


@converter("GATHER_ND", micro=MOVED)
def convert_gather_nd(ctx: Context) -> relax.Expr:
    """Return the parts at indices along several axes; the indices' last axis holds one index."""
    data, indices = ctx.input(0), ctx.input(1)
    depth = indices.shape[-1] if indices.shape else 0
    if not 0 < depth <= len(data.shape):
        raise QnnError(f"indices of shape {indices.shape} are none in a tensor of {data.shape}")
    sizes, rest = data.shape[:depth], data.shape[depth:]
    found = checked_indices(ctx, 1, sizes)
    flat = flat_indices(ctx, R.astype(found, "int32"), sizes)
    return take_at(reshaped(data.expr, (prod(sizes), *rest)), flat, 0)


def flat_indices(ctx: Context, indices: relax.Expr, sizes: Sequence[int]) -> relax.Expr:
    """Return the index in memory in place of several, which are clipped to their axes.

    Args:
        ctx: the operator.
        indices: int32; the last axis holds one index along each axis.
        sizes: of these axes.
    """
    last = np.array([max(size - 1, 0) for size in sizes], np.int32)
    inside: Any = np.clip(ctx.builder.array(indices), 0, last)
    strides = np.array(strides_of(sizes), np.int32)
    flat: relax.Expr = (inside * strides).sum(axis=-1, dtype="int32").expr
    return flat


def take_at(data: relax.Expr, indices: relax.Expr, axis: int) -> relax.Expr:
    """Return the elements at indices along an axis."""
    return R.take(data, indices, axis, "clip")


def checked_indices(ctx: Context, position: int, sizes: tuple[int, ...]) -> relax.Expr:
    """Return checked indices: constant ones are checked here, others by the run, as in LiteRT.

    The last axis of indices along several axes holds one index. In a branch that may not be taken
    indices are not checked.

    Raises:
        QnnError: they are of a wrong type, or constant and outside of these sizes.
    """
    indices = ctx.input(position)
    if indices.dtype not in _INDICES:
        raise QnnError(f"input {position}, {indices.label}, must be integers, is {indices.dtype}")
    ctx.check_constant(position, sizes, f"indices outside of {sizes}")
    if indices.is_constant or not ctx.builder.is_certain or 0 in (*sizes, *indices.shape):
        return indices.expr
    source, emit = f"operator {ctx.operator.index} {ctx.operator.code}", ctx.emit
    if len(sizes) == 1:
        return emit(counted_indices(indices.expr, sizes[0], source))
    array = ctx.array(position)
    columns = [
        emit(counted_indices(array[..., index : index + 1].expr, size, source))
        for index, size in enumerate(sizes)
    ]
    return emit(R.concat(columns, array.ndim - 1))


@converter("STABLEHLO_GATHER", dtypes=DTYPES)
def convert_stablehlo_gather(ctx: Context) -> relax.Expr:
    """Return slices of one size at indices; a slice that would cross an end is moved inside."""
    data, indices, options = ctx.input(0), ctx.input(1), ctx.options
    shape, sizes = data.shape, options.slice_sizes
    rank = len(shape)
    if len(sizes) != rank or not all(0 <= s <= n for s, n in zip(sizes, shape, strict=True)):
        raise QnnError(f"slice_sizes {sizes} of a tensor of shape {shape}")
    check_dims("collapsed_slice_dims", options.collapsed_slice_dims, rank)
    check_dims("start_index_map", options.start_index_map, rank, is_sorted=False)
    kept = [axis for axis in range(rank) if axis not in options.collapsed_slice_dims]
    rows = index_rows(ctx, indices, options.index_vector_dim, len(options.start_index_map))
    batch = without(indices.shape, options.index_vector_dim)
    count = len(batch) + len(kept)
    check_dims("offset_dims", options.offset_dims, count)
    # LiteRT gives the result the rank that the file states.
    if len(options.offset_dims) != len(kept) or len(ctx.output().shape) != count:
        raise QnnError(f"offset_dims {options.offset_dims} for slices of {len(kept)} axes")
    window = [sizes[axis] for axis in kept]
    if 0 in shape and 0 not in (*batch, *window):
        raise UnsupportedError(f"{data.label} has no elements")
    strides = strides_of(shape)
    named = options.start_index_map
    last = np.array([[shape[axis] - sizes[axis] for axis in named]], np.int64)
    steps = np.array([[strides[axis] for axis in named]], np.int64)
    inside: Any = np.clip(ctx.builder.array(rows), 0, last)
    begins = (inside * steps).sum(1, np.int64, True)
    check_slices(window)
    grid = np.indices(window).reshape(len(window), prod(window))
    offsets = sum((grid[i] * strides[axis] for i, axis in enumerate(kept)), np.zeros((), np.int64))
    flat = begins + np.reshape(offsets, (1, -1))
    taken = take_at(reshaped(data.expr, (prod(shape),)), flat.expr, 0)
    slices = ctx.emit(reshaped(ctx.emit(taken), (*batch, *window)))
    return R.permute_dims(slices, slice_order(options.offset_dims, count)) if count else slices


def slice_order(axes: Sequence[int], count: int) -> list[int]:
    """Return the source of each axis of a result: axes of the indices come before a slice's.

    Args:
        axes: the result's axes that come from a slice.
        count: the number of all axes.
    """
    first = count - len(axes)
    batch, slices = iter(range(first)), iter(range(first, count))
    return [next(slices) if axis in axes else next(batch) for axis in range(count)]


def check_dims(name: str, axes: Sequence[int], rank: int, *, is_sorted: bool = True) -> None:
    """Check that an option names axes, each once.

    Raises:
        QnnError: it does not, or not in order although the order matters.
    """
    is_other = is_sorted and list(axes) != sorted(axes)
    if len(set(axes)) < len(axes) or is_other or not all(0 <= axis < rank for axis in axes):
        raise QnnError(f"{name} must be axes of {rank}, each once, got {tuple(axes)}")


def check_slices(window: Sequence[int]) -> None:
    """Check that a table may hold the index of each element of a slice.

    Raises:
        UnsupportedError: it would be too large.
    """
    if prod(window) > _MOST_ELEMENTS:
        raise UnsupportedError(f"slices of {prod(window)} elements")


def without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return a shape without an axis."""
    return (*shape[:axis], *shape[axis + 1 :])


def strides_of(shape: Sequence[int]) -> list[int]:
    """Return the distance in memory of neighbours along each axis, in elements."""
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def index_rows(ctx: Context, indices: Operand, axis: int, depth: int) -> relax.Expr:
    """Return indices as rows of int64; ``depth`` numbers along an axis make one row.

    Raises:
        UnsupportedError: they are not integers.
        QnnError: there is no such axis, or it has another size.
    """
    shape, dtype = indices.shape, indices.dtype
    if dtype not in ("int32", "int64"):
        raise UnsupportedError(f"indices of {dtype}")
    # LiteRT reads beyond the shape if the axis is one more than the last.
    if not 0 <= axis < len(shape) or shape[axis] != depth:
        raise QnnError(f"index_vector_dim {axis}, for {depth} numbers, of indices of {shape}")
    order = [*(each for each in range(len(shape)) if each != axis), axis]
    moved = ctx.emit(R.permute_dims(R.astype(indices.expr, "int64"), order))
    return ctx.emit(reshaped(moved, (prod(without(shape, axis)), depth)))
