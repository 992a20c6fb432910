"""STRIDED_SLICE and SLICE."""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import StridedSliceOptions
from qnn_ops.errors import QnnError


@data_converter("SLICE")
def convert_slice(ctx: Context) -> relax.Expr:
    """From constant begins, as many elements as the sizes say; -1 stands for the rest."""
    data, begins, sizes = ctx.input(0), ctx.integers(1), ctx.integers(2)
    if not len(begins) == len(sizes) == len(data.shape):
        raise QnnError(f"begin {begins} and size {sizes} do not fit shape {data.shape}")
    ranges = []
    for begin, size, extent in zip(begins, sizes, data.shape, strict=True):
        end = extent if size == -1 else begin + size
        if not 0 <= begin <= end <= extent:
            raise QnnError(f"elements {begin} to {end} are outside a dimension of {extent}")
        ranges.append(range(begin, end))
    return _take(data, ranges)


@data_converter("STRIDED_SLICE")
def convert_strided_slice(ctx: Context) -> relax.Expr:
    """A Python slice with constant bounds; masks may open bounds, drop and insert axes."""
    options, data = ctx.options(StridedSliceOptions), ctx.input(0)
    begins, ends, steps = (ctx.integers(position) for position in (1, 2, 3))
    if not len(begins) == len(ends) == len(steps):
        raise QnnError(f"begin {begins}, end {ends} and strides {steps} differ in length")
    if 0 in steps:
        raise QnnError(f"strides must not be 0, got {steps}")
    if options.offset:
        raise UnsupportedError("ends that are counted from the begins")
    slicing = _Slicing(data.shape)
    inserted = options.new_axis_mask & ~options.ellipsis_mask
    for entry, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
        bit = 1 << entry
        if options.ellipsis_mask & bit:
            # What the later entries do not speak of; those that insert an axis speak of none.
            later = sum(not inserted >> i & 1 for i in range(entry + 1, len(begins)))
            slicing.keep(len(data.shape) - len(slicing.ranges) - later)
        elif inserted & bit:
            slicing.shape.append(1)
        elif options.shrink_axis_mask & bit:
            first = 0 if step > 0 else -1
            slicing.pick(first if options.begin_mask & bit else begin)
        else:
            slicing.cut(
                slice(
                    None if options.begin_mask & bit else begin,
                    None if options.end_mask & bit else end,
                    step,
                )
            )
    slicing.keep(len(data.shape) - len(slicing.ranges))
    return R.reshape(ctx.builder.emit(_take(data, slicing.ranges)), slicing.shape)


@dataclass
class _Slicing:
    """What has been said so far: a range for each axis of the data, and the result's shape."""

    extents: tuple[int, ...]
    ranges: list[range] = field(default_factory=list)
    shape: list[int] = field(default_factory=list)

    def _next(self) -> int:
        if len(self.ranges) == len(self.extents):
            raise QnnError(f"has more entries than the data has axes, {len(self.extents)}")
        return self.extents[len(self.ranges)]

    def cut(self, part: slice) -> None:
        extent = self._next()
        self.ranges.append(range(extent)[part])
        self.shape.append(len(self.ranges[-1]))

    def pick(self, index: int) -> None:
        extent = self._next()
        if not -extent <= index < extent:
            raise QnnError(f"element {index} is outside a dimension of {extent}")
        self.ranges.append(range(index % extent, index % extent + 1))

    def keep(self, count: int) -> None:
        for _ in range(count):
            self.cut(slice(None))


def _take(data: Operand, ranges: list[range]) -> relax.Expr:
    """The elements of the data at the given places of each axis, none of which is empty."""
    axes = [axis for axis, part in enumerate(ranges) if part != range(data.shape[axis])]
    if not axes:
        return data.expr
    if any(len(ranges[axis]) == 0 for axis in axes):
        raise QnnError(f"the slice of shape {data.shape} is empty")
    # Relax counts negative bounds from the end: one before the first is -extent - 1.
    ends = [
        ranges[axis].stop if ranges[axis].stop >= 0 else ranges[axis].stop - data.shape[axis]
        for axis in axes
    ]
    starts, steps = [ranges[axis].start for axis in axes], [ranges[axis].step for axis in axes]
    return R.strided_slice(data.expr, axes, starts, ends, steps)
