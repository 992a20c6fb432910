"""The parts of axes that slices and splits take: for conversion and for folding.

Source of STRIDED_SLICE: BuildStridedSliceParams of TFLite's kernels/strided_slice.cc, StartForAxis
and EndForAxis of kernels/internal/reference/strided_slice.h. An entry is an index into begin, end
and strides; the masks' bits count entries. Axes are those of the data and the new ones among them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from frontends.ranges import OpenRange, clamped, index_range
from frontends.tflite.options.base import Options
from qnn_ops.errors import QnnError


def split_sizes(given: Sequence[int], size: int, axis: int) -> list[int]:
    """Return the sizes of a SPLIT_V; one may be given as -1, which means the rest."""
    sizes = [*given]
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = size - sum(part for part in sizes if part != -1)
    if any(part < 0 for part in sizes) or sum(sizes) != size:
        raise QnnError(f"cannot split {size} along axis {axis} into {sizes}")
    return sizes


def sliced_ranges(
    shape: Sequence[int], begins: Sequence[int], sizes: Sequence[int]
) -> list[range | OpenRange]:
    """Return the indices that a SLICE takes along each axis; a size of -1 means the rest."""
    if not len(begins) == len(sizes) == len(shape):
        raise QnnError(f"begin {begins} and size {sizes} do not fit shape {shape}")
    ranges = []
    for begin, size, extent in zip(begins, sizes, shape, strict=True):
        end = extent if size == -1 else begin + size
        if not 0 <= begin <= end <= extent:
            raise QnnError(f"elements {begin} to {end} are outside a dimension of {extent}")
        ranges.append(index_range(begin, end))
    return ranges


@dataclass(frozen=True)
class SlicedAxis:
    """One axis of the data, or a new one.

    Attributes:
        indices: the elements to take, in order.
        is_new: whether it is inserted.
        is_dropped: whether the result lacks it.
    """

    indices: range | OpenRange
    is_new: bool = False
    is_dropped: bool = False


def sliced_axes(
    shape: Sequence[int],
    begins: Sequence[int],
    ends: Sequence[int],
    steps: Sequence[int],
    options: Options,
) -> list[SlicedAxis]:
    """Return the part of each axis that a STRIDED_SLICE takes, in order.

    Args:
        shape: of the data.
        begins: an entry for each axis, in order, unless masks say otherwise.
        ends: the same.
        steps: the same.
        options: the masks.

    Raises:
        QnnError: LiteRT refuses them, or reads beyond its arrays, or leaves the result unwritten.
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
            axes.append(SlicedAxis(index_range(0, next(sizes))))
        elif isinstance(kind, int) and 0 <= kind < len(begins):
            bounds = (begins[kind], ends[kind], steps[kind])
            axes.append(_cut(next(sizes), bounds, 1 << kind, options))
        else:
            raise QnnError(f"masks name an entry {kind}, there are {len(begins)}")
    return axes


def _kinds(rank: int, entries: int, inserted: int, options: Options) -> Iterator[int | str]:
    """Yield the kind of each axis: "new", "whole", or the number of its entry."""
    count = rank + inserted
    # The axes that ellipses stand for; only the last ellipsis moves the entries after it.
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


def _cut(size: int, bounds: tuple[int, int, int], bit: int, options: Options) -> SlicedAxis:
    begin, end, step = bounds
    if step in (0, -(2**31)):
        raise QnnError(f"strides must not be {step}")
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)
    first = clamped(begin, size, lowest, highest)
    if options.begin_mask & bit:
        first = 0 if step > 0 else size - 1
    if options.shrink_axis_mask & bit:
        if step < 0 or first >= size:
            raise QnnError(f"element {begin} by steps of {step} is outside a dimension of {size}")
        return SlicedAxis(index_range(first, first + 1), is_dropped=True)
    if options.offset:
        # LiteRT writes beyond the result if a mask opens its end.
        if step < 0 or end < 0 or first + end > size or options.end_mask & bit:
            raise QnnError(f"{end} elements from {first} on by steps of {step} are not in {size}")
        return SlicedAxis(index_range(first, first + end, step))
    last = clamped(end, size, lowest, highest)
    if options.end_mask & bit:
        last = size if step > 0 else -1
    return SlicedAxis(index_range(first, last, step))
