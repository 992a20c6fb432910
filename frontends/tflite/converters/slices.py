"""STRIDED_SLICE, SLICE and DYNAMIC_UPDATE_SLICE.

Source: BuildStridedSliceParams of TFLite's kernels/strided_slice.cc, StartForAxis and EndForAxis of
kernels/internal/reference/strided_slice.h. Entries are those of begin, end and strides, which the
masks' bits number; axes are those of the data, with the new ones among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import StridedSliceOptions
from qnn_ops.errors import QnnError


@dataclass(frozen=True)
class SlicedAxis:
    """One axis of the data, or a new one.

    Attributes:
        places: what is taken of it, in order.
        is_new: whether it is inserted.
        is_dropped: whether the result lacks it.
    """

    places: range
    is_new: bool = False
    is_dropped: bool = False


def sliced_axes(
    shape: Sequence[int],
    begins: Sequence[int],
    ends: Sequence[int],
    steps: Sequence[int],
    options: StridedSliceOptions,
) -> list[SlicedAxis]:
    """Return the part that is taken of each axis, in order.

    Args:
        shape: of the data.
        begins: an entry for each axis, in order, but for what masks say.
        ends: the same.
        steps: the same.
        options: the masks.

    Raises:
        QnnError: LiteRT refuses them, or reads beyond its arrays, or leaves the result as it was.
    """
    inserted = options.new_axis_mask & ~options.ellipsis_mask & ((1 << len(begins)) - 1)
    kinds = list(_kinds(len(shape), len(begins), inserted.bit_count(), options))
    if kinds.count("new") != inserted.bit_count():
        raise QnnError(
            f"masks name {kinds.count('new')} axes to insert, {inserted.bit_count()} of them "
            f"among the {len(begins)} entries"
        )
    sizes, axes = iter(shape), []
    for kind in kinds:
        if kind == "new":
            axes.append(SlicedAxis(range(1), is_new=True))
        elif kind == "whole":
            axes.append(SlicedAxis(range(next(sizes))))
        elif isinstance(kind, int) and 0 <= kind < len(begins):
            bounds = (begins[kind], ends[kind], steps[kind])
            axes.append(_cut(next(sizes), bounds, 1 << kind, options))
        else:
            raise QnnError(f"masks name an entry {kind}, there are {len(begins)}")
    return axes


def _kinds(
    rank: int, entries: int, inserted: int, options: StridedSliceOptions
) -> Iterator[int | str]:
    """Yield the kind of each axis: "new", "whole", or the number of the entry that speaks of it."""
    count = rank + inserted
    # The axes that ellipses stand for; only the last one moves the entries behind it.
    kinds: list[str] = [""] * count
    start, extra, axis = count, 0, 0
    while axis < count:
        if options.ellipsis_mask >> axis & 1:
            end = max(axis + 1, min(axis + 1 + count - entries, count))
            start, extra = axis, end - axis - 1
            kinds[axis:end] = ["whole"] * (end - axis)
            axis = end
            continue
        if options.new_axis_mask >> (axis - extra) & 1:
            kinds[axis] = "new"
        axis += 1
    passed = 0
    for axis, kind in enumerate(kinds):
        if kind == "whole":
            passed = max(0, axis - start)
        if kind:
            yield kind
        else:
            yield "whole" if axis >= entries + extra else axis - passed


def _cut(
    size: int, bounds: tuple[int, int, int], bit: int, options: StridedSliceOptions
) -> SlicedAxis:
    begin, end, step = bounds
    if step in (0, -(2**31)):
        raise QnnError(f"strides must not be {step}")
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)
    first = min(max(begin + size if begin < 0 else begin, lowest), highest)
    if options.begin_mask & bit:
        first = 0 if step > 0 else size - 1
    if options.shrink_axis_mask & bit:
        if step < 0 or first >= size:
            raise QnnError(f"element {begin} by steps of {step} is outside a dimension of {size}")
        return SlicedAxis(range(first, first + 1), is_dropped=True)
    if options.offset:
        # LiteRT writes beyond the result where a mask opens its end.
        if step < 0 or end < 0 or first + end > size or options.end_mask & bit:
            raise QnnError(f"{end} elements from {first} on by steps of {step} are not in {size}")
        return SlicedAxis(range(first, first + end, step))
    last = min(max(end + size if end < 0 else end, lowest), highest)
    if options.end_mask & bit:
        last = size if step > 0 else -1
    return SlicedAxis(range(first, last, step))


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
        raise QnnError(f"{part.shape} at {begins.shape} places is no part of {data.shape}")
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
        places = R.subtract(relax.const(np.arange(whole), "int64"), begin)
        places = ctx.builder.emit(places)
        near = ctx.builder.emit(R.clip(places, 0, size - 1))
        moved = ctx.builder.emit(R.take(moved, near, axis, "clip"))
        row = reshaped(ctx.builder.emit(R.equal(places, near)), [whole] + [1] * (rank - axis - 1))
        row = ctx.builder.emit(row)
        is_inside = row if is_inside is None else ctx.builder.emit(R.logical_and(is_inside, row))
    return moved if is_inside is None else R.where(is_inside, moved, data.expr)
