"""Units of several input channels, in vectors of units."""

from collections.abc import Sequence
from math import log2
from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_conv2d.loops import Loops, Taps
from legalize.kernels.float_conv2d.tiling import (
    has_streams,
    sections,
    tile_of,
)
from legalize.kernels.ir.rows import load_filled
from legalize.kernels.ir.sums import add_parts, zeros
from legalize.kernels.ir.tasks import loop_between, shared_loop
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    fetch,
    kept,
    set_lanes,
    spread,
)
from qnn_ops.unquantized.float_conv2d import runs_of

_RUN = 4

_LANES = 16
"""The lanes of vectors with prefetches. A vector is a line; others were not measured."""
_AHEAD = 512
"""How many weights ahead of a tile's loop its own weights are prefetched."""


class Dense(Loops):
    """Units of several input channels, in vectors of units."""

    def write(self) -> None:
        """Write blocks of as many vectors of units as registers hold, then the remaining ones.

        A block computes all rows before the next block begins, so that its weights stay in a cache.
        If the result is wide, all blocks compute a row before the next row begins.
        """
        spec = self.spec
        rows, per_group = spec.batch * spec.rows.count, spec.units // spec.groups
        most, self._pixels = tile_of(self.isa, spec)
        for first, blocks, size, left in sections(per_group, self.lanes, most):

            def turn(
                number: Index, first: int = first, blocks: int = blocks, block: Any = (size, left)
            ) -> None:
                inner = spec.groups * blocks if spec.is_wide else rows
                outer = kept(T.truncdiv(number, T.int32(inner)))
                turns = outer, kept(number - outer * inner)
                row, place = turns if spec.is_wide else turns[::-1]
                group = kept(T.truncdiv(place, T.int32(blocks)))
                vector = first + (place - group * blocks) * block[0]
                self._block(group, kept(vector), row, *block)

            shared_loop(self.tasks, spec.groups * blocks * rows, turn)

    @property
    def _fetches(self) -> bool:
        """Whether the kernel prefetches weights. A single pixel takes longer with prefetches."""
        spec = self.spec
        has_tiles = (spec.batch, spec.rows.count, spec.columns.count) != (1, 1, 1)
        return has_tiles and self.lanes == _LANES and spec.has_far_weights

    @property
    def _shift(self) -> int:
        """The binary logarithm of a block's number of tiles, rounded."""
        spec = self.spec
        return round(log2(spec.batch * spec.rows.count * -(-spec.columns.count // self._pixels)))

    def _next(self, weights: Index, length: int, pixel: Index) -> Index:
        """Return what a tile adds to an index of its weights, shifted, to prefetch others.

        Each tile of a block prefetches an equal share of the next block.

        Args:
            weights: the index of the block's first weight.
            length: how many weights the block has.
            pixel: the tile's first pixel.
        """
        turn = T.truncdiv(pixel, T.int32(self._pixels))
        return weights + length + turn * (length >> self._shift) - self._shifted(weights)

    def _shifted(self, index: Index) -> Index:
        return T.shift_right(index, T.int32(self._shift))

    def _block(self, group: Index, vector: Index, row: Index, size: int, left: int) -> None:
        """Write a row of pixels of a block of ``size`` vectors of a group's units."""
        spec, lanes, axis = self.spec, self.lanes, self.spec.columns
        per_group = spec.units // spec.groups
        vectors = -(-per_group // lanes)
        weights = kept((group * vectors + vector) * (spec.depth * lanes))
        unit = kept(group * per_group + vector * lanes)

        def tile(column: Index, pixels: int, taps: Taps, start: Index) -> None:
            begin = start + (column * axis.stride - axis.before) * spec.channels
            pixel = kept(row * axis.count + column)
            if self._fetches:
                self._others = kept(self._next(weights, size * spec.depth * lanes, pixel))
            sums = zeros(pixels, size, lanes)
            if spec.starts_with_bias:
                self._begin(sums, unit, lanes - left)
            self._multiply(sums, kept(begin + group * spec.inputs), weights, taps)
            for number, totals in enumerate(sums):
                for place, total in enumerate(totals):
                    count = lanes - left if place == size - 1 else lanes
                    first = unit + place * lanes
                    self.store(total, pixel + number, first, count)

        self.write_row(row, self._pixels, tile)

    def _streams(self, vectors: int) -> tuple[int, int]:
        """Return the distances of packed weights: between a sum's products, and between vectors."""
        if has_streams(self.spec):
            return self.lanes, self.spec.depth * self.lanes
        return vectors * self.lanes, self.lanes

    def _begin(self, sums: list[list[Buffer]], unit: Index, last: int) -> None:
        """Write sums that begin with the bias of units; the last vector has ``last`` units."""
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
        places = [packed + n * self._streams(len(sums[0]))[1] for n in range(len(sums[0]))]
        values = [kept(self.buffers["weights"][T.ramp(each, 1, lanes)]) for each in places]
        if self._fetches:
            for each in places:
                fetch(self.buffers["weights"], each + _AHEAD)
            other = kept(self._others + self._shifted(packed))
            for n in range(max(1, len(places) >> self._shift)):
                fetch(self.buffers["weights"], other + n * lanes, 2)
        for number in pixels:
            step = number * spec.columns.stride * spec.channels
            factor = kept(spread(self.buffers["data"][place + step], lanes))
            for value, total in zip(values, sums[number], strict=True):
                self.add(total, factor, value, lanes)

    def _multiply(self, sums: list[list[Buffer]], start: Index, weights: Index, taps: Taps) -> None:
        """Write the loops over a window, which add the products of each sum one by one."""
        self._add_window(sums, start, weights, taps, self.spec.inputs)

    def _add_window(
        self, sums: list[list[Buffer]], start: Index, weights: Index, taps: Taps, inputs: int
    ) -> None:
        """Write the loops over a window for the first ``inputs`` channels of the data."""
        spec, (lanes, _) = self.spec, self._streams(len(sums[0]))
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


class InParts(Dense):
    """Units of several input channels, in an order of ONNX Runtime."""

    def _multiply(self, sums: list[list[Buffer]], start: Index, weights: Index, taps: Taps) -> None:
        """Write the loop over a sum whose parts are added up separately."""
        spec, lanes, pixels = self.spec, self.lanes, range(len(sums))
        pitch, _ = self._streams(len(sums[0]))
        assert spec.parts is not None
        size = spec.parts.size
        if spec.has_blocks:
            self._add_blocks(sums, start, weights, taps, spec.parts.block)
            return

        def add(k: Index, parts: list[list[Buffer]]) -> None:
            place = self.buffers["places"][k] if spec.has_places else k
            self._step(parts, kept(start + place), weights + k * pitch, pixels)

        def add_run(begin: Index, count: int) -> None:
            parts = zeros(len(sums), len(sums[0]), lanes)
            for k in range(count):
                add(begin + k, parts)
            add_parts(sums, parts)

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
            begin, parts = number * size, zeros(len(sums), len(sums[0]), lanes)
            loop_between(begin, T.min(begin + size, spec.depth), lambda k: add(k, parts))
            add_parts(sums, parts)

    def _add_blocks(
        self, sums: list[list[Buffer]], start: Index, weights: Index, taps: Taps, size: int
    ) -> None:
        """Write the loop over blocks of input channels, whose windows are added up separately."""
        spec = self.spec
        blocks, rest = divmod(spec.inputs, size)
        if spec.inputs <= size:
            self._add_window(sums, start, weights, taps, spec.inputs)
            return

        def add(number: Index, inputs: int) -> None:
            parts = zeros(len(sums), len(sums[0]), self.lanes)
            pitch, _ = self._streams(len(sums[0]))
            packed = weights + number * (spec.depth // spec.inputs * size * pitch)
            self._add_window(parts, kept(start + number * size), kept(packed), taps, inputs)
            add_parts(sums, parts)

        with T.serial(blocks) as number:
            add(number, size)
        if rest:
            add(T.int32(blocks), rest)
