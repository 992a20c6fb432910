"""SCATTER_ND, SPARSE_TO_DENSE, operators of segments, STABLEHLO_SCATTER and ONE_HOT."""

from collections.abc import Sequence
from math import inf, prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.control import subgraph
from frontends.tflite.converters.functions.reductions import beginning
from frontends.tflite.converters.moves import gather
from frontends.tflite.operators import converter, row_of
from qnn_ops import scatter_rows
from qnn_ops.dialect.registry import TensorSpec
from qnn_ops.errors import QnnError

_DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float32")


@converter("SCATTER_ND", fills=True)
def convert_scatter_nd(ctx: Context) -> relax.Expr:
    """Add parts to zeros at indices along the first axes; the last axis holds one index."""
    indices, parts, shape = ctx.input(0), ctx.input(1), ctx.integers(2)
    dtype, rank = parts.dtype, len(indices.shape) - 1
    if dtype not in _DTYPES or indices.dtype != "int32":
        raise UnsupportedError(f"{dtype} at indices of {indices.dtype}")
    depth = indices.shape[-1] if indices.shape else 0
    fits = parts.shape == (*indices.shape[:rank], *shape[depth:])
    if rank < 0 or not 0 < depth <= len(shape) or min(shape, default=0) < 0 or not fits:
        raise QnnError(f"indices of {indices.shape} for parts of {parts.shape} in {shape}")
    if 0 in shape or 0 in parts.shape:
        return R.zeros(shape, dtype)
    rows = reshaped(parts.expr, (prod(indices.shape[:rank]), prod(shape[depth:])))
    flat = _flat_indices(ctx, 0, shape[:depth])
    wide = "int32" if dtype == "bool" else dtype
    zeros = R.zeros((prod(shape[:depth]), prod(shape[depth:])), wide)
    summed = _scattered(ctx, zeros, flat, R.astype(rows, wide), "add")
    if dtype == "bool":
        summed = R.not_equal(summed, relax.const(0, wide))
    return reshaped(ctx.emit(R.astype(summed, dtype)), shape)


@converter("SPARSE_TO_DENSE", fills=True)
def convert_sparse_to_dense(ctx: Context) -> relax.Expr:
    """Put values, or one for all, at indices in a tensor that is filled with another value."""
    indices, shape = ctx.input(0), ctx.integers(1, ("int32", "int64"))
    values = ctx.input(2)
    dtype = values.dtype
    if dtype not in {*_DTYPES} - {"bool"} or indices.dtype not in ("int32", "int64"):
        raise UnsupportedError(f"{dtype} at indices of {indices.dtype}")
    count, depth = (*indices.shape, 1, 1)[:2]
    fits = len(indices.shape) < 3 and 0 < depth == len(shape) <= 4 and min(shape, default=0) >= 0
    if not fits or values.shape not in ((), (count,)):
        raise QnnError(f"indices of {indices.shape} for values of {values.shape} in {shape}")
    filled = R.broadcast_to(ctx.single(3, dtype), (prod(shape), 1))
    if 0 in shape:
        return R.zeros(shape, dtype)
    if count == 0:
        return reshaped(filled, shape)
    flat = _flat_indices(ctx, 0, shape, count)
    each = R.broadcast_to(reshaped(values.expr, (-1, 1)), (count, 1))
    return reshaped(_scattered(ctx, filled, flat, each, "update"), shape)


_SEGMENT_REDUCTIONS: dict[str, tuple[str, str | int]] = {
    "UNSORTED_SEGMENT_MAX": ("maximum", "min"),
    "UNSORTED_SEGMENT_MIN": ("minimum", "max"),
    "UNSORTED_SEGMENT_PROD": ("multiply", 1),
    "UNSORTED_SEGMENT_SUM": ("add", 0),
}
"""Each operator's reduction of a segment: numpy's function, and the result without rows."""


@converter(*_SEGMENT_REDUCTIONS, fills=True)
def convert_segments(ctx: Context) -> relax.Expr:
    """Reduce the rows of each segment; rows of negative segments are left out."""
    return _reduced(ctx, ctx.integer(2), *_SEGMENT_REDUCTIONS[ctx.operator.code])


@converter("SEGMENT_SUM", fills=True)
def convert_segment_sum(ctx: Context) -> relax.Expr:
    """Sum up the rows of each segment; segments are numbered in order."""
    indices = ctx.input(1)
    if not indices.is_constant:
        raise UnsupportedError("the shape of its result depends on the data of a run")
    numbers = np.asarray(ctx.constant(1)).astype(np.int64)
    steps = np.diff(numbers, prepend=-1) if numbers.ndim == 1 else np.array([-1])
    if np.any((steps != 0) & (steps != 1)) or (numbers.size and numbers[0] != 0):
        raise QnnError(f"{indices.label} must count segments from 0, in order")
    return _reduced(ctx, int(numbers.max(initial=-1)) + 1, "add", 0)


def _reduced(ctx: Context, count: int, reduction: str, begin: str | int) -> relax.Expr:
    data, indices = ctx.input(0), ctx.input(1)
    dtype, rank = data.dtype, len(indices.shape)
    if dtype not in ("int32", "float32") or indices.dtype != "int32":
        raise UnsupportedError(f"{dtype} in segments of {indices.dtype}")
    if count < 0 or data.shape[:rank] != indices.shape:
        raise QnnError(f"segments {indices.shape} of data of {data.shape}, {count} of them")
    ctx.check_constant(1, [count], f"segments beyond {count}", least=-(2**31))
    rest = data.shape[rank:]
    start = beginning(begin, dtype)
    if 0 in data.shape or count == 0:
        return R.full((count, *rest), start, dtype)
    rows = reshaped(data.expr, (prod(indices.shape), prod(rest)))
    # One more row takes the rows of no segment.
    segments = ctx.builder.array(reshaped(indices.expr, (prod(indices.shape),)))
    flat: Any = np.where(segments < 0, count, np.minimum(segments, count))
    full = R.full((count + 1, prod(rest)), start, dtype)
    summed = _scattered(ctx, full, flat.expr, rows, reduction)
    kept = ctx.emit(R.strided_slice(summed, [0], [0], [count]))
    return reshaped(kept, (count, *rest))


def _scattered(
    ctx: Context, data: relax.Expr, indices: relax.Expr, rows: relax.Expr, reduction: str
) -> relax.Expr:
    """Put rows at indices of the first axis, one after the other."""
    emit = ctx.emit
    return emit(scatter_rows(emit(data), emit(indices), emit(rows), reduction))


def _flat_indices(
    ctx: Context, position: int, sizes: tuple[int, ...], count: int = 0
) -> relax.Expr:
    """Return one number for each index, clipped to the axes' sizes.

    LiteRT ends a run if an index is outside.
    """
    indices = ctx.input(position)
    ctx.check_constant(position, sizes, f"indices outside of {sizes}")
    shape = (count or prod(indices.shape[:-1]), len(sizes))
    return gather.flat_indices(ctx, reshaped(R.astype(indices.expr, "int32"), shape), sizes)


@converter("STABLEHLO_SCATTER", fills=True)
def convert_stablehlo_scatter(ctx: Context) -> relax.Expr:
    """Put slices at indices, element by element, or combine them with the data.

    Elements outside the data are left out.
    """
    data, indices, updates = ctx.inputs(3)
    options, emit = ctx.options, ctx.emit
    shape, dtype, named = data.shape, data.dtype, options.scatter_dims_to_operand_dims
    if dtype not in gather.DTYPES or updates.dtype != dtype:
        raise UnsupportedError(f"{updates.dtype} in {dtype}")
    rank, count = len(shape), len(updates.shape)
    gather.check_dims("inserted_window_dims", options.inserted_window_dims, rank)
    gather.check_dims("update_window_dims", options.update_window_dims, count)
    gather.check_dims("scatter_dims_to_operand_dims", named, rank, is_sorted=False)
    kept = [axis for axis in range(rank) if axis not in options.inserted_window_dims]
    window = [updates.shape[axis] for axis in options.update_window_dims]
    gather.check_slices(window)
    rows = gather.index_rows(ctx, indices, options.index_vector_dim, len(named))
    batch = gather.without(indices.shape, options.index_vector_dim)
    fits = len(window) == len(kept) and len(batch) + len(window) == count
    order = gather.slice_order(options.update_window_dims, count)
    if not fits or [(*batch, *window)[axis] for axis in order] != [*updates.shape]:
        raise QnnError(f"updates of {updates.shape} at indices of {indices.shape} in {shape}")
    ctx.check_constant(1, [inf], "indices below 0")
    reduction = _reduction(ctx, options.update_computation_subgraph_index)
    size, elements = prod(shape), prod(updates.shape)
    if 0 in (size, elements):
        return data.expr
    grid = dict(zip(kept, np.indices(window).reshape(len(window), prod(window)), strict=True))
    flat = _flat_indices_of_slices(ctx, rows, named, grid, shape)
    ordered = emit(R.permute_dims(reshaped(flat, (*batch, *window)), order)) if count else flat
    wide = "int32" if dtype == "int16" else dtype
    # One more row takes the elements outside.
    column = reshaped(R.astype(data.expr, wide), (size, 1))
    rows_of_data = emit(R.concat([emit(column), R.zeros((1, 1), wide)], 0))
    values = emit(reshaped(emit(R.astype(updates.expr, wide)), (elements, 1)))
    put = scatter_rows(rows_of_data, emit(reshaped(ordered, (elements,))), values, reduction)
    inside = emit(R.strided_slice(emit(put), [0], [0], [size]))
    return reshaped(emit(R.astype(inside, dtype)), shape)


def _flat_indices_of_slices(
    ctx: Context,
    rows: relax.Expr,
    named: Sequence[int],
    grid: dict[int, np.ndarray],
    shape: Sequence[int],
) -> relax.Expr:
    """Return one number for each element of each slice; elements outside get the number after all.

    Args:
        ctx: the operator.
        rows: [indices, axes], the beginnings of slices.
        named: the axes of the beginnings.
        grid: the distance of each element of a slice from its beginning, along each axis.
        shape: of the data.
    """
    if prod(max(each, 1) for each in shape) >= 1 << 31:  # its indices are int32
        raise QnnError(f"data of shape {tuple(shape)} is too large")
    array, strides, size = ctx.builder.array(rows), gather.strides_of(shape), prod(shape)
    elements = next((offsets.size for offsets in grid.values()), 1)
    none = np.zeros((1, elements), np.int64)
    is_inside, total = none == 0, none
    for axis in range(len(shape)):
        if axis not in named:
            offsets = grid.get(axis, none)
            is_inside = is_inside & (offsets < shape[axis])
            total = total + offsets * strides[axis]
    flags = ctx.builder.array(relax.const(is_inside))
    for index, axis in enumerate(named):
        at = array[:, index : index + 1] + grid.get(axis, none)
        is_there = (at >= 0) & (at < shape[axis])
        flags = flags & is_there
        # An index outside may be any number, and its product with a stride too large.
        total = total + np.clip(at, 0, shape[axis]) * strides[axis]
    result: Any = np.where(flags, total, np.int64(size)).astype("int32")
    return result.expr


def _reduction(ctx: Context, number: int) -> str:
    """Return the function by which the only operator of a subgraph combines two numbers."""
    codes = [operator.code for operator in subgraph(ctx, number).operators]
    if not codes:
        return "update"
    reduction = row_of(codes[0]).combines
    is_other = not codes[0].startswith("STABLEHLO") or reduction in ("", "all", "any")
    if len(codes) > 1 or is_other:
        raise UnsupportedError(f"combines numbers by {', '.join(codes)}")
    return reduction


@converter("ONE_HOT")
def convert_one_hot(ctx: Context) -> relax.Expr:
    """Put one value at each given index along a new axis, and another value elsewhere."""
    indices, depth = ctx.input(0), ctx.integer(1)
    values = [ctx.single(position, ctx.output().dtype) for position in (2, 3)]
    rank, axis = len(indices.shape), ctx.options.axis
    axis = rank if axis == -1 else axis
    if indices.dtype not in ("int32", "int64"):
        raise QnnError(f"{indices.label} must be int32 or int64")
    if not 0 <= axis <= rank or depth < 0:
        raise QnnError(f"axis {axis} of {depth} for {rank} axes")
    ctx.check_size(TensorSpec((*indices.shape, depth), ctx.output().dtype))
    shape = [1] * (rank + 1)
    shape[axis] = depth
    numbers = np.arange(depth).reshape(shape).astype(indices.dtype)
    if depth == 0:
        shape = [*indices.shape[:axis], 0, *indices.shape[axis:]]
        return R.zeros(shape, ctx.output().dtype)
    is_named: Any = np.expand_dims(ctx.array(0), axis) == numbers
    return R.where(is_named.expr, *values)
