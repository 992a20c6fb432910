"""Convolutions of float32, in tiles whose sums stay in registers and keep a given order.

    for each block of units, and row of pixels      in parallel, if there is work for several
      for each tile of pixels that read no padding, and each other pixel
        for each row and column of the window inside the image, and each input channel
          sums += data · weights, both rounded
        output = the clamp of sums + bias

In ONNX Runtime's orders padding counts as data, and a sum is one loop, part by part; a table has
the offsets of its data. Lanes are units, so a sum is one lane, and vectors change no order. Lanes
of a depthwise convolution are channels, of the data as well. The last tile of a row overlaps the
one before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_conv2d.spec import Axis, FloatConv, sections, tile_size
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
        _KINDS[spec.is_depthwise, spec.parts is not None](isa, spec).write()
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


@dataclass(frozen=True)
class _Taps:
    """The taps of an axis that meet the image: the first one, and the first one after them."""

    begin: Index
    end: Index

    @classmethod
    def of(cls, axis: Axis, number: Index, *, is_inner: bool) -> _Taps:
        """Return the taps of the window with this number."""
        if is_inner:
            return cls(T.int32(0), T.int32(axis.window))
        start = number * axis.stride - axis.before
        step = axis.dilation
        begin = T.truncdiv(T.max(step - 1 - start, 0), T.int32(step))
        end = T.truncdiv(T.max(axis.size - start + step - 1, 0), T.int32(step))
        return cls(kept(T.min(begin, axis.window)), kept(T.min(end, axis.window)))


class _Loops:
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, isa: VectorIsa, spec: FloatConv) -> None:
        self.isa, self.spec, self.lanes = isa, spec, isa.lanes
        shapes = {"data": spec.data_shape, "weights": kernel_shape(isa, spec)}
        shapes |= {"bias": (spec.units,)} if spec.has_bias else {}
        shapes |= {"places": (spec.depth,)} if spec.has_places else {}
        shapes |= {"output": spec.shape}
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

    def _row(self, row: Index, most: int, write: Callable[[Index, int, Any, Index], None]) -> None:
        """Write the tiles of a row of pixels.

        Args:
            row: its number, counted through all images.
            most: pixels of a tile.
            write: writes a tile, given its first column, its pixels, its taps along both axes, and
                the offset of the data's row that the first row of taps meets.
        """
        spec, axis = self.spec, self.spec.columns
        image = T.truncdiv(row, T.int32(spec.rows.count))
        number = kept(row - image * spec.rows.count)
        down = _Taps.of(spec.rows, number, is_inner=spec.rows.is_inner)
        first = image * spec.rows.size + number * spec.rows.stride - spec.rows.before
        start = kept(first * (axis.size * spec.channels))
        begin, end = axis.inner
        if end > begin:
            size = tile_size(end - begin, min(most, _MOST_PIXELS))
            with T.serial(-(-(end - begin) // size)) as turn:
                column = begin + unsigned_min(turn * size, end - begin - size)
                write(column, size, (down, _Taps.of(axis, column, is_inner=True)), start)
        outside = begin + axis.count - end
        if outside:
            with T.serial(outside) as turn:
                column = kept(T.Select(turn < begin, turn, turn + (end - begin)))
                write(column, 1, (down, _Taps.of(axis, column, is_inner=False)), start)

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

        def tile(column: Index, pixels: int, taps: tuple[_Taps, _Taps], start: Index) -> None:
            begin = start + (column * axis.stride - axis.before) * spec.channels
            sums = self._sums(pixels, size, lanes)
            if spec.starts_with_bias:
                self._begin(sums, unit, lanes - left)
            self._multiply(sums, kept(begin + group * spec.inputs), weights, taps)
            pixel = kept((row * axis.count + column) * spec.units)
            for number, totals in enumerate(sums):
                for place, total in enumerate(totals):
                    count = lanes - left if place == size - 1 else lanes
                    first = unit + place * lanes
                    self._store(total, pixel + number * spec.units + first, first, count)

        self._row(row, self.isa.registers * 3 // 4 // size, tile)

    def _begin(self, sums: list[list[Buffer]], unit: Index, last: int) -> None:
        """Let sums begin with the bias of units; the last vector has ``last`` units."""
        for totals in sums:
            for place, total in enumerate(totals):
                count = last if place == len(totals) - 1 else self.lanes
                start = unit + place * self.lanes
                value = load_filled(self.buffers["bias"], start, count, self.lanes)
                set_lanes(total, value, self.lanes)

    def _step(self, sums: list[list[Buffer]], place: Index, packed: Index) -> None:
        """Add one product to each sum of a tile."""
        spec, lanes = self.spec, self.lanes
        places = [packed + n * (spec.depth * lanes) for n in range(len(sums[0]))]
        values = [kept(self.buffers["weights"][T.ramp(each, 1, lanes)]) for each in places]
        for number, totals in enumerate(sums):
            step = number * spec.columns.stride * spec.channels
            factor = kept(spread(self.buffers["data"][place + step], lanes))
            for value, total in zip(values, totals, strict=True):
                self._add(total, factor, value, lanes)

    def _multiply(
        self, sums: list[list[Buffer]], start: Index, weights: Index, taps: tuple[_Taps, _Taps]
    ) -> None:
        """Write the loops over a window, which add the products of each sum one by one."""
        spec, lanes, (down, along) = self.spec, self.lanes, taps
        pitch, inputs = spec.columns.dilation * spec.channels, spec.inputs

        def run(place: Index, packed: Index, count: Index) -> None:
            place, packed = kept(place), kept(packed)
            with T.serial(count) as k:
                self._step(sums, place + k, packed + k * lanes)

        def row(tap: Index) -> None:
            place = start + tap * (spec.rows.dilation * spec.columns.size * spec.channels)
            packed = weights + tap * (spec.columns.window * inputs * lanes)
            if pitch == inputs:  # taps that are neighbours in memory are one loop
                count = (along.end - along.begin) * inputs
                run(place + along.begin * pitch, packed + along.begin * (inputs * lanes), count)
                return
            loop_between(
                along.begin,
                along.end,
                lambda tap: run(place + tap * pitch, packed + tap * (inputs * lanes), inputs),
            )

        loop_between(down.begin, down.end, row)


class _InParts(_Dense):
    """Units of several input channels, in an order of ONNX Runtime."""

    def _multiply(
        self, sums: list[list[Buffer]], start: Index, weights: Index, _taps: tuple[_Taps, _Taps]
    ) -> None:
        """Write the loop over a sum whose parts are added up separately."""
        spec, lanes = self.spec, self.lanes
        assert spec.parts is not None
        size = spec.parts.size

        def add(k: Index, parts: list[list[Buffer]]) -> None:
            place = self.buffers["places"][k] if spec.has_places else k
            self._step(parts, kept(start + place), weights + k * lanes)

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

                def tile(column: Index, pixels: int, taps: Any, start: Index) -> None:
                    sums = self._sums(pixels, 1, lanes)
                    begin = start + (column * axis.stride - axis.before) * spec.channels
                    self._multiply([each for (each,) in sums], kept(begin + channel), channel, taps)
                    pixel = kept((row * axis.count + column) * spec.units + channel)
                    for number, (total,) in enumerate(sums):
                        self._store(total, pixel + number * spec.units, channel, lanes)

                self._row(row, self._most, tile)

        shared_loop(self.tasks, spec.batch * spec.rows.count, turn)

    @property
    def _most(self) -> int:
        """Pixels of a tile."""
        return _MOST_PIXELS

    def _multiply(
        self, sums: list[Buffer], start: Index, channel: Index, taps: tuple[_Taps, _Taps]
    ) -> None:
        """Write the loops over a window."""
        down, along = taps

        def row(row: Index) -> None:
            loop_between(
                along.begin, along.end, lambda tap: self._step(sums, start, channel, row, tap)
            )

        loop_between(down.begin, down.end, row)

    def _step(
        self, sums: list[Buffer], start: Index, channel: Index, row: Index, column: Index
    ) -> None:
        """Add one product to each sum of a tile."""
        spec, axis = self.spec, self.spec.columns
        lanes = depthwise_lanes(self.isa, spec.channels)
        weight = (row * axis.window + column) * spec.channels + channel
        value = kept(self.buffers["weights"][T.ramp(weight, 1, lanes)])
        pixel = row * (spec.rows.dilation * axis.size) + column * axis.dilation
        place = kept(start + pixel * spec.channels)
        for number, total in enumerate(sums):
            own = place + number * axis.stride * spec.channels
            self._add(total, self.buffers["data"][T.ramp(own, 1, lanes)], value, lanes)


class _InRuns(_Depthwise):
    """Units of one channel each, in an order of ONNX Runtime, with runs of the window unrolled."""

    @property
    def _most(self) -> int:
        return max(2, _MOST_STEPS // self.spec.depth)

    def _multiply(
        self, sums: list[Buffer], start: Index, channel: Index, taps: tuple[_Taps, _Taps]
    ) -> None:
        """Write the products: those of a run are added up separately."""
        if self.spec.is_fused:
            super()._multiply(sums, start, channel, taps)
            return
        lanes = depthwise_lanes(self.isa, self.spec.channels)
        for begin, count in runs_of(self.spec.depth):
            parts = [each for (each,) in self._sums(len(sums), 1, lanes)]
            for k in range(begin, begin + count):
                row, column = divmod(k, self.spec.columns.window)
                self._step(parts, start, channel, T.int32(row), T.int32(column))
            for total, part in zip(sums, parts, strict=True):
                set_lanes(total, get_lanes(total, lanes) + get_lanes(part, lanes), lanes)


_KINDS = {
    (False, False): _Dense,
    (False, True): _InParts,
    (True, False): _Depthwise,
    (True, True): _InRuns,
}
"""By whether a convolution is depthwise, and whether it has an order of ONNX Runtime."""
