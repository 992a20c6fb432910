"""Convolutions of float32, in tiles whose sums stay in registers and keep a given order.

    for each block of units, and row of pixels      in parallel, if there is work for several
      for each tile of pixels that read no padding, and each other pixel
        for each row and column of the window inside the image, and each input channel
          sums += data · weights, both rounded
        output = the clamp of sums + bias

In ONNX Runtime's orders a sum is added part by part; if a part is not all taps of some channels, a
table has the offsets of its data. Lanes are units, so a sum is one lane, and vectors change no
order. Lanes of a depthwise convolution are channels, of the data as well. The last tile of a row
overlaps the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_conv2d.spec import Axis, FloatConv, Span, sections
from legalize.kernels.ir.arithmetic import rounded_apart
from legalize.kernels.ir.rows import load_filled, ramp, store_lanes
from legalize.kernels.ir.tasks import loop_between, shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    splat,
    spread,
    unsigned_min,
)
from legalize.kernels.isa.base import VectorIsa
from qnn_ops.unquantized.float_conv2d import runs_of

_MOST_PIXELS = 12
_MOST_STEPS = 54
"""The unrolled products of a tile of a depthwise convolution."""
_MOST_COLUMNS = 7
"""The columns of a depthwise convolution's window, if they are unrolled."""
_RUN = 4
# Roughly what one thread multiplies with vectors of 16.
_PRODUCTS_PER_MICROSECOND = 25_000


@cache
def float_conv(isa: VectorIsa, spec: FloatConv) -> tirx.PrimFunc:
    """Build the function of a convolution.

    Returns:
        A function of the data, the packed kernel (see ``rules``), perhaps the bias, and the output.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("float_conv2d")
        T.func_attr({"global_symbol": "float_conv2d", "tirx.noalias": True})
        kind = _KINDS[spec.is_depthwise, spec.parts is not None]
        kind(isa, spec.in_a_row(), spec.data_shape, spec.shape).write()
    return builder.get()


def depthwise_lanes(isa: VectorIsa, channels: int) -> int:
    """Return the channels of a vector: a power of two, at most all channels."""
    return min(isa.lanes, 1 << (channels.bit_length() - 1))


def kernel_shape(isa: VectorIsa, spec: FloatConv) -> tuple[int, ...]:
    """Return the shape of the packed kernel."""
    if spec.is_depthwise:
        return (spec.depth, spec.channels)
    vectors = -(-spec.units // spec.groups // isa.lanes)
    return (spec.groups * vectors, spec.depth, isa.lanes)


_MOST_UNROLLED = 32
"""The taps in a row of the tiles that read padding, if these are unrolled."""


def _span(axis: Axis, number: Index) -> Span:
    """Return the taps of the window with this number that meet the image."""
    if axis.inner == (0, axis.count):
        return Span(T.int32(0), T.int32(axis.window), (0,))
    start = number * axis.stride - axis.before
    step = axis.dilation
    begin = T.truncdiv(T.max(step - 1 - start, 0), T.int32(step))
    end = T.truncdiv(T.max(axis.size - start + step - 1, 0), T.int32(step))
    return Span(kept(T.min(begin, axis.window)), kept(T.min(end, axis.window)), (0,))


@dataclass(frozen=True)
class _Taps:
    """The taps of a tile that meet the image.

    Attributes:
        down: along the vertical axis.
        along: along the horizontal one; pixels read different taps.
    """

    down: Span
    along: list[Span]


class _Loops:
    """The buffers of one function, and the writer of its loops."""

    def __init__(
        self, isa: VectorIsa, spec: FloatConv, data: tuple[int, ...], output: tuple[int, ...]
    ) -> None:
        self.isa, self.spec, self.lanes = isa, spec, isa.lanes
        shapes = {"data": data, "weights": kernel_shape(isa, spec)}
        shapes |= {"bias": (spec.units,)} if spec.has_bias else {}
        shapes |= {"places": (spec.depth,)} if spec.has_places else {}
        shapes |= {"output": output}
        dtypes = dict.fromkeys(shapes, "float32") | {"places": "int32"}
        given = {name: T.arg(name, T.buffer(each, dtypes[name])) for name, each in shapes.items()}
        self.buffers = {
            name: T.decl_buffer((prod(shapes[name]),), dtypes[name], data=each.data)
            for name, each in given.items()
        }

    def write(self) -> None:
        """Write the whole function."""
        raise NotImplementedError

    @property
    def tasks(self) -> int:
        """How many tasks share the work."""
        return task_count(self.spec.products / _PRODUCTS_PER_MICROSECOND * self.isa.size / 64)

    def _row(
        self, row: Index, most: int, write: Callable[[Index, int, _Taps, Index], None]
    ) -> None:
        """Write the tiles of a row of pixels.

        Args:
            row: its number, counted through all images.
            most: pixels of a tile.
            write: writes a tile, given its first column, its pixels, its taps, and the offset of
                the data's row that the first row of taps meets.
        """
        spec, axis, most = self.spec, self.spec.columns, min(most, _MOST_PIXELS)
        image = T.truncdiv(row, T.int32(spec.rows.count))
        number = kept(row - image * spec.rows.count)
        down = _span(spec.rows, number)
        first = image * spec.rows.size + number * spec.rows.stride - spec.rows.before
        start = kept(first * (axis.size * spec.channels))

        def whole(starts: Sequence[int], size: int) -> None:
            """Write the tiles that begin there, and read no padding."""
            if starts:
                taps = _Taps(down, axis.spans(starts[0], size))
                with T.serial(len(starts)) as turn:
                    column = starts[0] + unsigned_min(turn * size, starts[-1] - starts[0])
                    write(column, size, taps, start)

        inner, outer, size = axis.tiles(0, axis.count, most)
        if len(outer) * axis.window <= _MOST_UNROLLED:
            whole(inner, size)
            for each in outer:
                write(T.int32(each), size, _Taps(down, axis.spans(each, size)), start)
            return
        begin, end = axis.inner
        inner, _, size = axis.tiles(begin, end, most)
        whole(inner, size)
        with T.serial(begin + axis.count - end) as turn:
            column = kept(T.Select(turn < begin, turn, turn + (end - begin)))
            write(column, 1, _Taps(down, [_span(axis, column)]), start)

    def _sums(self, pixels: int, vectors: int, lanes: int) -> list[list[Buffer]]:
        """Allocate the sums of a tile."""
        sums = [[local_vector(lanes, "float32") for _ in range(vectors)] for _ in range(pixels)]
        for each in (each for row in sums for each in row):
            set_lanes(each, splat("float32", 0.0, lanes), lanes)
        return sums

    def _add(self, total: Buffer, factor: Vector, value: Vector, lanes: int) -> None:
        """Add a product to a sum, with both rounded, or with one rounding."""
        if self.spec.is_fused:
            result = self.isa.multiply_add(factor, value, get_lanes(total, lanes))
        else:
            result = get_lanes(total, lanes) + rounded_apart(factor * value)
        set_lanes(total, result, lanes)

    def _store(self, total: Buffer, place: Index, unit: Index, count: int) -> None:
        """Store the first lanes of a sum with its bias, clamped. A NaN stays."""
        lanes = int(total.shape[0])
        value = get_lanes(total, lanes)
        if self.spec.has_bias and not self.spec.starts_with_bias:
            value = kept(value + load_filled(self.buffers["bias"], unit, count, lanes))
        for end, is_beyond in ((self.spec.low, _is_below), (self.spec.high, _is_above)):
            if end is not None:
                bound = splat("float32", end, lanes)
                value = kept(T.Select(is_beyond(value, bound), bound, value))
        if count == lanes:
            T.buffer_store(self.buffers["output"], value, [ramp(place, lanes)])
        else:
            store_lanes(self.buffers["output"], value, 0, place, count)


def _is_below(value: Vector, bound: Vector) -> Vector:
    return value < bound


def _is_above(value: Vector, bound: Vector) -> Vector:
    return value > bound


class _Dense(_Loops):
    """Units of several input channels, in vectors of units."""

    def write(self) -> None:
        """Write blocks of as many vectors of units as registers hold, then the remaining ones."""
        spec = self.spec
        rows, per_group = spec.batch * spec.rows.count, spec.units // spec.groups
        most = self.isa.registers // (4 if spec.pixels == 1 else 8)
        for first, blocks, size, left in sections(per_group, self.lanes, most):

            def turn(
                number: Index, first: int = first, blocks: int = blocks, block: Any = (size, left)
            ) -> None:
                place = kept(T.truncdiv(number, T.int32(rows)))
                group = kept(T.truncdiv(place, T.int32(blocks)))
                vector = first + (place - group * blocks) * block[0]
                self._block(group, kept(vector), kept(number - place * rows), *block)

            shared_loop(self.tasks, spec.groups * blocks * rows, turn)

    def _block(self, group: Index, vector: Index, row: Index, size: int, left: int) -> None:
        """Write a row of pixels of a block of ``size`` vectors of a group's units."""
        spec, lanes, axis = self.spec, self.lanes, self.spec.columns
        per_group = spec.units // spec.groups
        vectors = -(-per_group // lanes)
        weights = kept((group * vectors + vector) * (spec.depth * lanes))
        unit = kept(group * per_group + vector * lanes)

        def tile(column: Index, pixels: int, taps: _Taps, start: Index) -> None:
            begin = start + (column * axis.stride - axis.before) * spec.channels
            sums = self._sums(pixels, size, lanes)
            if spec.starts_with_bias:
                self._begin(sums, unit, lanes - left)
            self._multiply(sums, kept(begin + group * spec.inputs), weights, taps)
            pixel = kept(spec.first + (row * axis.count + column) * spec.pitch)
            for number, totals in enumerate(sums):
                for place, total in enumerate(totals):
                    count = lanes - left if place == size - 1 else lanes
                    first = unit + place * lanes
                    self._store(total, pixel + number * spec.pitch + first, first, count)

        self._row(row, self.isa.registers * 3 // 4 // size, tile)

    def _begin(self, sums: list[list[Buffer]], unit: Index, last: int) -> None:
        """Let sums begin with the bias of units; the last vector has ``last`` units."""
        for totals in sums:
            for place, total in enumerate(totals):
                count = last if place == len(totals) - 1 else self.lanes
                start = unit + place * self.lanes
                value = load_filled(self.buffers["bias"], start, count, self.lanes)
                set_lanes(total, value, self.lanes)

    def _step(
        self, sums: list[list[Buffer]], place: Index, packed: Index, pixels: Sequence[int]
    ) -> None:
        """Add one product to each sum of some pixels of a tile."""
        spec, lanes = self.spec, self.lanes
        places = [packed + n * (spec.depth * lanes) for n in range(len(sums[0]))]
        values = [kept(self.buffers["weights"][T.ramp(each, 1, lanes)]) for each in places]
        for number in pixels:
            step = number * spec.columns.stride * spec.channels
            factor = kept(spread(self.buffers["data"][place + step], lanes))
            for value, total in zip(values, sums[number], strict=True):
                self._add(total, factor, value, lanes)

    def _multiply(
        self, sums: list[list[Buffer]], start: Index, weights: Index, taps: _Taps
    ) -> None:
        """Write the loops over a window, which add the products of each sum one by one."""
        self._add_window(sums, start, weights, taps, self.spec.inputs)

    def _add_window(
        self, sums: list[list[Buffer]], start: Index, weights: Index, taps: _Taps, inputs: int
    ) -> None:
        """Write the loops over a window for the first ``inputs`` channels of the data."""
        spec, lanes = self.spec, self.lanes
        pitch = spec.columns.dilation * spec.channels

        def run(place: Index, packed: Index, count: Index, pixels: Sequence[int]) -> None:
            place, packed = kept(place), kept(packed)
            with T.serial(count) as k:
                self._step(sums, place + k, packed + k * lanes, pixels)

        def row(tap: Index) -> None:
            place = kept(start + tap * (spec.rows.dilation * spec.columns.size * spec.channels))
            packed = kept(weights + tap * (spec.columns.window * inputs * lanes))
            for span in taps.along:
                if pitch == inputs:  # taps that are neighbours in memory are one loop
                    begin = span.begin * inputs
                    count = (span.end - span.begin) * inputs
                    run(place + begin, packed + begin * lanes, count, span.pixels)
                    continue
                with T.serial(span.end - span.begin) as turn:
                    tap = span.begin + turn
                    packed_tap = packed + tap * (inputs * lanes)
                    run(place + tap * pitch, packed_tap, inputs, span.pixels)

        loop_between(taps.down.begin, taps.down.end, row)


class _InParts(_Dense):
    """Units of several input channels, in an order of ONNX Runtime."""

    def _multiply(
        self, sums: list[list[Buffer]], start: Index, weights: Index, taps: _Taps
    ) -> None:
        """Write the loop over a sum whose parts are added up separately."""
        spec, lanes, pixels = self.spec, self.lanes, range(len(sums))
        assert spec.parts is not None
        size = spec.parts.size
        if spec.has_blocks:
            self._add_blocks(sums, start, weights, taps, spec.parts.block)
            return

        def add(k: Index, parts: list[list[Buffer]]) -> None:
            place = self.buffers["places"][k] if spec.has_places else k
            self._step(parts, kept(start + place), weights + k * lanes, pixels)

        def add_run(begin: Index, count: int) -> None:
            parts = self._sums(len(sums), len(sums[0]), lanes)
            for k in range(count):
                add(begin + k, parts)
            self._join(sums, parts)

        if spec.parts.has_runs:
            if spec.depth >= _RUN:
                with T.serial(spec.depth // _RUN) as number:
                    add_run(number * _RUN, _RUN)
            for begin, count in runs_of(spec.depth):
                if count < _RUN:
                    add_run(T.int32(begin), count)
            return
        if spec.depth <= size:
            with T.serial(spec.depth) as k:
                add(k, sums)
            return
        with T.serial(-(-spec.depth // size)) as number:
            begin, parts = number * size, self._sums(len(sums), len(sums[0]), lanes)
            loop_between(begin, T.min(begin + size, spec.depth), lambda k: add(k, parts))
            self._join(sums, parts)

    def _add_blocks(
        self, sums: list[list[Buffer]], start: Index, weights: Index, taps: _Taps, size: int
    ) -> None:
        """Write the loop over blocks of input channels, whose windows are added up separately."""
        spec = self.spec
        blocks, rest = divmod(spec.inputs, size)
        if spec.inputs <= size:
            self._add_window(sums, start, weights, taps, spec.inputs)
            return

        def add(number: Index, inputs: int) -> None:
            parts = self._sums(len(sums), len(sums[0]), self.lanes)
            packed = weights + number * (spec.depth // spec.inputs * size * self.lanes)
            self._add_window(parts, kept(start + number * size), kept(packed), taps, inputs)
            self._join(sums, parts)

        with T.serial(blocks) as number:
            add(number, size)
        if rest:
            add(T.int32(blocks), rest)

    def _join(self, sums: list[list[Buffer]], parts: list[list[Buffer]]) -> None:
        """Add sums of parts to sums."""
        for totals, own in zip(sums, parts, strict=True):
            for total, part in zip(totals, own, strict=True):
                value = get_lanes(total, self.lanes) + get_lanes(part, self.lanes)
                set_lanes(total, value, self.lanes)


class _Depthwise(_Loops):
    """Units of one channel each, in vectors of channels; the last one overlaps the one before."""

    def write(self) -> None:
        """Write rows of pixels, and for each vector of channels the tiles."""
        spec, axis = self.spec, self.spec.columns
        lanes = depthwise_lanes(self.isa, spec.channels)

        def turn(row: Index) -> None:
            row = kept(row)
            with T.serial(-(-spec.channels // lanes)) as vector:
                channel = unsigned_min(vector * lanes, spec.channels - lanes)

                def tile(column: Index, pixels: int, taps: _Taps, start: Index) -> None:
                    sums = self._sums(pixels, 1, lanes)
                    begin = start + (column * axis.stride - axis.before) * spec.channels
                    self._multiply([each for (each,) in sums], kept(begin + channel), channel, taps)
                    pixel = kept(spec.first + (row * axis.count + column) * spec.pitch + channel)
                    for number, (total,) in enumerate(sums):
                        self._store(total, pixel + number * spec.pitch, channel, lanes)

                self._row(row, self._most, tile)

        shared_loop(self.tasks, spec.batch * spec.rows.count, turn)

    @property
    def _most(self) -> int:
        """Pixels of a tile, whose sums and data are in registers."""
        return self.isa.registers * 3 // 8

    def _multiply(self, sums: list[Buffer], start: Index, channel: Index, taps: _Taps) -> None:
        """Write the loops over a window. Its columns are unrolled, as they share the data."""

        def row(row: Index) -> None:
            for span in taps.along:
                begin, end, pixels = span.begin, span.end, span.pixels
                if isinstance(begin, int) and end - begin <= _MOST_COLUMNS:
                    for tap in range(begin, end):
                        self._step(sums, start, channel, row, T.int32(tap), pixels)
                    continue
                with T.serial(end - begin) as turn:
                    self._step(sums, start, channel, row, begin + turn, pixels)

        loop_between(taps.down.begin, taps.down.end, row)

    def _step(
        self,
        sums: list[Buffer],
        start: Index,
        channel: Index,
        row: Index,
        column: Index,
        pixels: Sequence[int],
    ) -> None:
        """Add one product to each sum of some pixels of a tile."""
        spec, axis = self.spec, self.spec.columns
        lanes = depthwise_lanes(self.isa, spec.channels)
        weight = (row * axis.window + column) * spec.channels + channel
        value = kept(self.buffers["weights"][T.ramp(weight, 1, lanes)])
        pixel = row * (spec.rows.dilation * axis.size) + column * axis.dilation
        place = kept(start + pixel * spec.channels)
        for number in pixels:
            own = place + number * axis.stride * spec.channels
            data = self.buffers["data"][T.ramp(own, 1, lanes)]
            self._add(sums[number], data, value, lanes)


class _InRuns(_Depthwise):
    """Units of one channel each, in an order of ONNX Runtime, with runs of the window unrolled."""

    @property
    def _most(self) -> int:
        return max(2, _MOST_STEPS // self.spec.depth)

    def _multiply(self, sums: list[Buffer], start: Index, channel: Index, taps: _Taps) -> None:
        """Write the products: those of a run are added up separately."""
        if self.spec.is_fused:
            super()._multiply(sums, start, channel, taps)
            return
        lanes = depthwise_lanes(self.isa, self.spec.channels)
        for begin, count in runs_of(self.spec.depth):
            parts = [each for (each,) in self._sums(len(sums), 1, lanes)]
            for k in range(begin, begin + count):
                row, column = divmod(k, self.spec.columns.window)
                place = T.int32(row), T.int32(column)
                self._step(parts, start, channel, *place, range(len(sums)))
            for total, part in zip(sums, parts, strict=True):
                set_lanes(total, get_lanes(total, lanes) + get_lanes(part, lanes), lanes)


_KINDS = {
    (False, False): _Dense,
    (False, True): _InParts,
    (True, False): _Depthwise,
    (True, True): _InRuns,
}
"""By whether a convolution is depthwise, and whether it has an order of ONNX Runtime."""
