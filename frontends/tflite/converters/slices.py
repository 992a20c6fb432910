"""STRIDED_SLICE and SLICE."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.converters.slice_masks import sliced_axes
from frontends.tflite.options import StridedSliceOptions
from qnn_ops.errors import QnnError


@data_converter("SLICE")
def convert_slice(ctx: Context) -> relax.Expr:
    """Slice from constant begins as many elements as the sizes say."""
    data = ctx.input(0)
    begins, sizes = (ctx.integers(position, ("int32", "int64")) for position in (1, 2))
    return _take(data, sliced_ranges(data.shape, begins, sizes))


def sliced_ranges(shape: Sequence[int], begins: Sequence[int], sizes: Sequence[int]) -> list[range]:
    """Return the places of each axis that a SLICE takes; a size of -1 stands for the rest."""
    if not len(begins) == len(sizes) == len(shape):
        raise QnnError(f"begin {begins} and size {sizes} do not fit shape {shape}")
    ranges = []
    for begin, size, extent in zip(begins, sizes, shape, strict=True):
        end = extent if size == -1 else begin + size
        if not 0 <= begin <= end <= extent:
            raise QnnError(f"elements {begin} to {end} are outside a dimension of {extent}")
        ranges.append(range(begin, end))
    return ranges


@data_converter("STRIDED_SLICE")
def convert_strided_slice(ctx: Context) -> relax.Expr:
    """Return a Python slice with constant bounds; masks may open bounds, drop and insert axes."""
    options, data = ctx.options(StridedSliceOptions), ctx.input(0)
    begins, ends, steps = (ctx.integers(position) for position in (1, 2, 3))
    if not len(begins) == len(ends) == len(steps):
        raise QnnError(f"begin {begins}, end {ends} and strides {steps} differ in length")
    axes = sliced_axes(data.shape, begins, ends, steps, options)
    taken = _take(data, [axis.places for axis in axes if not axis.is_new])
    return reshaped(
        ctx.builder.emit(taken), [len(axis.places) for axis in axes if not axis.is_dropped]
    )


def _take(data: Operand, ranges: Sequence[range]) -> relax.Expr:
    """Return the elements of the data at the given places of each axis."""
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
