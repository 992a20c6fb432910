"""STABLEHLO_SCATTER."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.control import subgraph
from frontends.tflite.converters.fixed_point import number
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.converters.stablehlo_gather import (
    DTYPES,
    check_dims,
    check_slices,
    index_rows,
    slice_order,
    strides_of,
    without,
)
from frontends.tflite.options import StablehloScatterOptions
from qnn_ops import QnnError, scatter_rows

_REDUCTIONS = {
    "": "update",
    "STABLEHLO_ADD": "add",
    "STABLEHLO_MAXIMUM": "maximum",
    "STABLEHLO_MINIMUM": "minimum",
    "STABLEHLO_MULTIPLY": "multiply",
}


@data_converter("STABLEHLO_SCATTER")
def convert_stablehlo_scatter(ctx: Context) -> relax.Expr:
    """Put slices at places, element by element, or combine them with what is there.

    An element that would lie outside is left out.
    """
    data, places, updates = ctx.input(0), ctx.input(1), ctx.input(2)
    options, emit = ctx.options(StablehloScatterOptions), ctx.builder.emit
    shape, dtype, named = data.shape, data.tensor.dtype, options.scatter_dims_to_operand_dims
    if dtype not in DTYPES or updates.tensor.dtype != dtype:
        raise UnsupportedError(f"{updates.tensor.dtype} in {dtype}")
    rank, count = len(shape), len(updates.shape)
    check_dims("inserted_window_dims", options.inserted_window_dims, rank)
    check_dims("update_window_dims", options.update_window_dims, count)
    check_dims("scatter_dims_to_operand_dims", named, rank, is_sorted=False)
    kept = [axis for axis in range(rank) if axis not in options.inserted_window_dims]
    window = [updates.shape[axis] for axis in options.update_window_dims]
    check_slices(window)
    rows = index_rows(ctx, places, options.index_vector_dim, len(named))
    batch = without(places.shape, options.index_vector_dim)
    fits = len(window) == len(kept) and len(batch) + len(window) == count
    order = slice_order(options.update_window_dims, count)
    if not fits or [(*batch, *window)[axis] for axis in order] != [*updates.shape]:
        raise QnnError(f"updates of {updates.shape} at places of {places.shape} in {shape}")
    if places.tensor.is_constant and np.any(ctx.constant(1) < 0):
        raise QnnError(f"{places.tensor.label} has places below 0")
    reduction = _reduction(ctx, options.update_computation_subgraph_index)
    size, elements = prod(shape), prod(updates.shape)
    if 0 in (size, elements):
        return data.expr
    grid = dict(zip(kept, np.indices(window).reshape(len(window), prod(window)), strict=True))
    flat = _flat_places(ctx, rows, named, grid, shape)
    ordered = emit(R.permute_dims(reshaped(flat, (*batch, *window)), order)) if count else flat
    wide = "int32" if dtype == "int16" else dtype
    # One row more, which takes what lies outside.
    column = reshaped(R.astype(data.expr, wide), (size, 1))
    rows_of_data = emit(R.concat([emit(column), R.zeros((1, 1), wide)], 0))
    values = emit(reshaped(emit(R.astype(updates.expr, wide)), (elements, 1)))
    put = scatter_rows(rows_of_data, emit(reshaped(ordered, (elements,))), values, reduction)
    inside = emit(R.strided_slice(emit(put), [0], [0], [size]))
    return reshaped(emit(R.astype(inside, dtype)), shape)


def _flat_places(
    ctx: Context,
    rows: relax.Expr,
    named: Sequence[int],
    grid: dict[int, np.ndarray],
    shape: Sequence[int],
) -> relax.Expr:
    """Return one number for each element of each slice; for those outside the one after all.

    Args:
        ctx: the operator.
        rows: [places, axes], where slices begin.
        named: the axes of these.
        grid: how far each element of a slice is from its begin, along each of its axes.
        shape: of the data.
    """
    if prod(max(each, 1) for each in shape) >= 1 << 31:  # its places are int32
        raise QnnError(f"data of shape {tuple(shape)} is too large")
    emit, strides, size = ctx.builder.emit, strides_of(shape), prod(shape)
    elements = next((offsets.size for offsets in grid.values()), 1)
    none = np.zeros(elements, np.int64)
    fixed = [axis for axis in range(len(shape)) if axis not in named]
    is_inside = np.ones(elements, bool)
    begin = none
    for axis in fixed:
        offsets = grid.get(axis, none)
        is_inside = is_inside & (offsets < shape[axis])
        begin = begin + offsets * strides[axis]
    total: relax.Expr = relax.const(begin[np.newaxis], "int64")
    flags: relax.Expr = relax.const(is_inside[np.newaxis])
    for place, axis in enumerate(named):
        starts = emit(R.strided_slice(rows, [1], [place], [place + 1]))
        at = emit(R.add(starts, relax.const(grid.get(axis, none)[np.newaxis], "int64")))
        low, high = (number(each) for each in (0, shape[axis]))
        flags = emit(
            R.logical_and(flags, R.logical_and(R.greater_equal(at, low), R.less(at, high)))
        )
        # Outside it may be any number, and its product with a stride too large.
        near = R.minimum(R.maximum(at, low), high)
        total = emit(R.add(total, R.multiply(near, number(strides[axis]))))
    return emit(R.astype(R.where(flags, total, number(size)), "int32"))


def _reduction(ctx: Context, number: int) -> str:
    """Return how the one operator of a subgraph combines two numbers."""
    codes = [operator.code for operator in subgraph(ctx, number).operators]
    code = codes[0] if codes else ""
    if len(codes) > 1 or code not in _REDUCTIONS:
        raise UnsupportedError(f"combines numbers by {', '.join(codes)}")
    return _REDUCTIONS[code]
