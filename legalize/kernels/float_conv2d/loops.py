"""The buffers of a convolution's function, the tiles of a row, and the end of a sum."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_conv2d.spec import Axis, FloatConv, Span
from legalize.kernels.float_conv2d.tiling import MOST_PIXELS, kernel_shape
from legalize.kernels.ir.arithmetic import rounded_apart
from legalize.kernels.ir.rows import load_filled, ramp, store_lanes
from legalize.kernels.ir.tasks import task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    get_lanes,
    kept,
    set_lanes,
    splat,
    unsigned_min,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.written import arguments

# The approximate speed of one thread with vectors of 16 lanes.
_PRODUCTS_PER_MICROSECOND = 25_000
_MOST_UNROLLED = 32
"""The most taps in a row of tiles that read padding, if these tiles are unrolled."""


def _span(axis: Axis, number: Index) -> Span:
    """Return the taps of a window, given its index, that meet the image."""
    if axis.inner == (0, axis.count):
        return Span(T.int32(0), T.int32(axis.window), (0,))
    start = number * axis.stride - axis.before
    step = axis.dilation
    begin = T.truncdiv(T.max(step - 1 - start, 0), T.int32(step))
    end = T.truncdiv(T.max(axis.size - start + step - 1, 0), T.int32(step))
    return Span(kept(T.min(begin, axis.window)), kept(T.min(end, axis.window)), (0,))


@dataclass(frozen=True)
class Taps:
    """The taps of a tile that meet the image.

    Attributes:
        down: along the vertical axis.
        along: along the horizontal axis; pixels read different taps.
    """

    down: Span
    along: list[Span]


class Loops:
    """The buffers of one function, and the writer of its loops."""

    def __init__(
        self, isa: VectorIsa, spec: FloatConv, data: tuple[int, ...], output: tuple[int, ...]
    ) -> None:
        self.isa, self.spec, self.lanes = isa, spec, isa.lanes
        shapes = {"data": data, "weights": kernel_shape(isa, spec)}
        shapes |= {"bias": (spec.units,)} if spec.has_bias else {}
        shapes |= {"addend": (*output[:-1], spec.units)} if spec.has_addend else {}
        shapes |= {"places": (spec.depth,)} if spec.has_places else {}
        shapes |= {"output": output}
        dtypes = dict.fromkeys(shapes, "float32") | {"places": "int32"}
        kinds = {name: (shape, dtypes[name]) for name, shape in shapes.items()}
        self.buffers = dict(zip(kinds, arguments(**kinds), strict=True))

    def write(self) -> None:
        """Write the whole function."""
        raise NotImplementedError

    @property
    def tasks(self) -> int:
        """How many tasks share the work."""
        return task_count(self.spec.products / _PRODUCTS_PER_MICROSECOND * self.isa.size / 64)

    def write_row(
        self, row: Index, most: int, write: Callable[[Index, int, Taps, Index], None]
    ) -> None:
        """Write the tiles of a row of pixels.

        Args:
            row: the row's index, counted through all images.
            most: pixels of a tile.
            write: writes a tile, given its first column, its pixels, its taps, and the offset of
                the data's row that the first row of taps meets.
        """
        spec, axis, most = self.spec, self.spec.columns, min(most, MOST_PIXELS)
        image = T.truncdiv(row, T.int32(spec.rows.count))
        number = kept(row - image * spec.rows.count)
        down = _span(spec.rows, number)
        first = image * spec.rows.size + number * spec.rows.stride - spec.rows.before
        start = kept(first * (axis.size * spec.channels))

        def whole(starts: Sequence[int], size: int) -> None:
            """Write the tiles that begin at ``starts`` and read no padding."""
            if starts:
                taps = Taps(down, axis.spans(starts[0], size))
                with T.serial(len(starts)) as turn:
                    column = starts[0] + unsigned_min(turn * size, starts[-1] - starts[0])
                    write(column, size, taps, start)

        inner, outer, size = axis.tiles(0, axis.count, most)
        if len(outer) * axis.window <= _MOST_UNROLLED:
            whole(inner, size)
            for each in outer:
                write(T.int32(each), size, Taps(down, axis.spans(each, size)), start)
            return
        begin, end = axis.inner
        inner, _, size = axis.tiles(begin, end, most)
        whole(inner, size)
        with T.serial(begin + axis.count - end) as turn:
            column = kept(T.Select(turn < begin, turn, turn + (end - begin)))
            write(column, 1, Taps(down, [_span(axis, column)]), start)

    def add(self, total: Buffer, factor: Vector, value: Vector, lanes: int) -> None:
        """Add a product to a sum, with two roundings or with one."""
        if self.spec.is_fused:
            result = self.isa.multiply_add(factor, value, get_lanes(total, lanes))
        else:
            result = get_lanes(total, lanes) + rounded_apart(factor * value)
        set_lanes(total, result, lanes)

    def store(self, total: Buffer, pixel: Index, unit: Index, count: int) -> None:
        """Store the first lanes of a sum with its bias and addend, clamped. A NaN stays.

        Args:
            total: the sum.
            pixel: the pixel's index, counted through all images.
            unit: the first unit.
            count: how many units.
        """
        spec, lanes = self.spec, int(total.shape[0])
        place = spec.first + pixel * spec.pitch + unit
        value = get_lanes(total, lanes)
        if spec.has_bias and not spec.starts_with_bias:
            value = kept(value + load_filled(self.buffers["bias"], unit, count, lanes))
        if spec.has_addend:
            own = pixel * spec.units + unit
            value = kept(value + load_filled(self.buffers["addend"], own, count, lanes))
        for end, is_beyond in ((spec.low, operator.lt), (spec.high, operator.gt)):
            if end is not None:
                bound = splat("float32", end, lanes)
                value = kept(T.Select(is_beyond(value, bound), bound, value))
        if count == lanes:
            T.buffer_store(self.buffers["output"], value, [ramp(place, lanes)])
        else:
            store_lanes(self.buffers["output"], value, 0, place, count)
