"""The parts of axes that a STRIDED_SLICE takes.

Source: BuildStridedSliceParams of TFLite's kernels/strided_slice.cc, StartForAxis and EndForAxis of
kernels/internal/reference/strided_slice.h. An entry is an index into begin, end and strides; the
masks' bits count entries. Axes are those of the data and the new ones among them.
"""

from collections.abc import Iterator, Sequence

from frontends.ranges import OpenRange, clamped, count_of, index_range
from frontends.tflite.options.base import Options
from qnn_ops.errors import QnnError


def sliced_axes(
    shape: Sequence[int],
    begins: Sequence[int],
    ends: Sequence[int],
    steps: Sequence[int],
    options: Options,
) -> tuple[list[range | OpenRange], list[int]]:
    """Return the indices that are taken along each axis of the data, and the shape of the result.

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
    sizes, ranges, result = iter(shape), list[range | OpenRange](), []
    for kind in kinds:
        if kind == "new":
            result.append(1)
            continue
        if kind == "whole":
            ranges.append(index_range(0, next(sizes)))
        elif isinstance(kind, int) and 0 <= kind < len(begins):
            bounds = (begins[kind], ends[kind], steps[kind])
            ranges.append(_cut(next(sizes), bounds, 1 << kind, options))
            if options.shrink_axis_mask >> kind & 1:
                continue
        else:
            raise QnnError(f"masks name an entry {kind}, there are {len(begins)}")
        result.append(count_of(ranges[-1]))
    return ranges, result


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


def _cut(size: int, bounds: tuple[int, int, int], bit: int, options: Options) -> range | OpenRange:
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
        return index_range(first, first + 1)
    if options.offset:
        # LiteRT writes beyond the result if a mask opens its end.
        if step < 0 or end < 0 or first + end > size or options.end_mask & bit:
            raise QnnError(f"{end} elements from {first} on by steps of {step} are not in {size}")
        return index_range(first, first + end, step)
    last = clamped(end, size, lowest, highest)
    if options.end_mask & bit:
        last = size if step > 0 else -1
    return index_range(first, last, step)
