"""STRIDED_SLICE, SLICE and DYNAMIC_UPDATE_SLICE."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.axes import sliced_axes, sliced_ranges
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import StridedSliceOptions
from qnn_ops.errors import QnnError


@data_converter("SLICE")
def convert_slice(ctx: Context) -> relax.Expr:
    """Slice from constant begins as many elements as the sizes say."""
    data = ctx.input(0)
    begins, sizes = (ctx.integers(position, ("int32", "int64")) for position in (1, 2))
    return _take(data, sliced_ranges(data.shape, begins, sizes))


@data_converter("STRIDED_SLICE")
def convert_strided_slice(ctx: Context) -> relax.Expr:
    """Return a Python slice with constant bounds; masks may open bounds, drop and insert axes."""
    options, data = ctx.options(StridedSliceOptions), ctx.input(0)
    begins, ends, steps = (ctx.integers(position) for position in (1, 2, 3))
    if not len(begins) == len(ends) == len(steps):
        raise QnnError(f"begin {begins}, end {ends} and strides {steps} differ in length")
    axes = sliced_axes(data.shape, begins, ends, steps, options)
    taken = _take(data, [axis.indices for axis in axes if not axis.is_new])
    return reshaped(
        ctx.builder.emit(taken), [len(axis.indices) for axis in axes if not axis.is_dropped]
    )


def _take(data: Operand, ranges: Sequence[range]) -> relax.Expr:
    """Return the elements of the data at the given indices of each axis."""
    if not all(ranges):
        return R.zeros([len(part) for part in ranges], data.tensor.dtype)
    axes = [axis for axis, part in enumerate(ranges) if part != range(data.shape[axis])]
    if not axes:
        return data.expr
    # Relax counts negative bounds from the end: one before the first is -extent - 1.
    ends = [
        ranges[axis].stop if ranges[axis].stop >= 0 else ranges[axis].stop - data.shape[axis]
        for axis in axes
    ]
    starts, steps = [ranges[axis].start for axis in axes], [ranges[axis].step for axis in axes]
    return R.strided_slice(data.expr, axes, starts, ends, steps)


_PLACES = ("int32", "int64")


@data_converter("DYNAMIC_UPDATE_SLICE")
def convert_dynamic_update_slice(ctx: Context) -> relax.Expr:
    """Put a tensor into a larger one, at a place that is moved inside if it is not."""
    data, part, begins = ctx.inputs()
    rank = len(data.shape)
    if part.tensor.dtype != data.tensor.dtype or begins.tensor.dtype not in _PLACES:
        dtypes = [part.tensor.dtype, begins.tensor.dtype]
        raise UnsupportedError(f"{dtypes} into {data.tensor.dtype}")
    if begins.shape != (rank,) or len(part.shape) != rank:
        raise QnnError(f"{part.shape} at {begins.shape} indices is no part of {data.shape}")
    if any(size > whole for size, whole in zip(part.shape, data.shape, strict=True)):
        raise QnnError(f"a part of shape {part.shape} does not fit into {data.shape}")
    if 0 in part.shape:
        return data.expr
    wide = ctx.builder.emit(R.astype(begins.expr, "int64"))
    moved, is_inside = part.expr, None
    for axis, (size, whole) in enumerate(zip(part.shape, data.shape, strict=True)):
        if size == whole:
            continue
        begin = R.strided_slice(wide, [0], [axis], [axis + 1])
        begin = ctx.builder.emit(R.clip(ctx.builder.emit(begin), 0, whole - size))
        indices = R.subtract(relax.const(np.arange(whole), "int64"), begin)
        indices = ctx.builder.emit(indices)
        near = ctx.builder.emit(R.clip(indices, 0, size - 1))
        moved = ctx.builder.emit(R.take(moved, near, axis, "clip"))
        row = reshaped(ctx.builder.emit(R.equal(indices, near)), [whole] + [1] * (rank - axis - 1))
        row = ctx.builder.emit(row)
        is_inside = row if is_inside is None else ctx.builder.emit(R.logical_and(is_inside, row))
    return moved if is_inside is None else R.where(is_inside, moved, data.expr)
