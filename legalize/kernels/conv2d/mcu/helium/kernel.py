"""Convolutions and dense layers with Helium: sums of sixteen products at a time.

What a few pixels read is gathered first, with its padding; where it lies in the data as it is
needed, nothing is. Of neighbours in a row whose windows overlap, each vector is read once. Sums of
four channels are rescaled together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.helium.epilogue import Fields, constants
from legalize.kernels.conv2d.mcu.kernel import arguments
from legalize.kernels.conv2d.mcu.window import gather, is_pixelwise
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.rows import powers_of_two, ramp
from legalize.kernels.ir.types import Array, Buffer, Index, Vector
from legalize.kernels.ir.vectors import splat
from legalize.kernels.isa.helium import (
    FOUR,
    SIZE,
    dot,
    reading_vectors,
    unseen,
    unseen_index,
    vector_of,
)
from legalize.kernels.isa.mcu import WORD

_MOST_HELD = 9  # vectors of a tile's data which LLVM may keep in registers over all channels
_HELD = (5, 6)  # with those, vectors of a sum whose loop is written out, and in a turn of others
_READ_ANEW = (9, 9)  # the same where each loop reads its vectors anew
_MOST_REACHED = 5  # columns that neighbours read, for whose vectors there are registers
_MOST_SHARED = 4  # vectors of a tap in a turn of neighbours' loop


@dataclass(frozen=True)
class Tile:
    """What is computed at a time.

    Attributes:
        pixels: whose sums are added up together.
        channels: of each; they divide four.
    """

    pixels: int
    channels: int


def vectors_of(spec: ConvSpec) -> int:
    """Return the vectors of a sum's products, with those of zeros that fill the last one."""
    return -(-spec.kernel_height * spec.kernel_width * spec.in_channels // SIZE)


def choose_tile(spec: ConvSpec) -> Tile:
    """Return as many pixels and channels as there are registers of sums."""
    if spec.out_pixels == 1:
        return Tile(1, FOUR)
    return Tile(min(3, spec.out_pixels), 2)


def span_of(spec: ConvSpec, tile: Tile) -> ConvSpec | None:
    """Return a convolution whose pixels read what a tile's neighbours in a row read together.

    Of such pixels, vectors of whole taps are read once. None where a tile has no such pixels.

    Args:
        spec: the convolution.
        tile: what is computed at a time.
    """
    more = tile.pixels - 1
    top, left, bottom, right = spec.padding
    width = spec.kernel_width + more
    if more == 0 or spec.kernel_width == 1 or width > _MOST_REACHED:
        return None
    if spec.in_channels % SIZE or spec.strides[1] != 1 or spec.dilation[1] != 1:
        return None
    if spec.out_width < tile.pixels:
        return None
    return replace(spec, kernel_width=width, padding=(top, left, bottom, right + more))


def packed_rows(spec: ConvSpec, rows: Array, tile: Tile) -> Array:
    """Return int8 weights in the order in which a kernel reads them.

    Args:
        spec: the convolution.
        rows: of each output channel.
        tile: of the kernel.
    """
    if span_of(spec, tile) is not None:
        shape = len(rows), spec.kernel_height, spec.kernel_width, -1, SIZE
        rows = rows.reshape(shape).transpose(0, 1, 3, 2, 4).reshape(len(rows), -1)
    padded = np.pad(rows, ((0, -len(rows) % FOUR), (0, -rows.shape[1] % SIZE)))
    steps = padded.reshape(-1, tile.channels, padded.shape[1] // SIZE, SIZE)
    return np.ascontiguousarray(steps.transpose(0, 2, 1, 3)).reshape(-1)


def conv2d(spec: ConvSpec, tile: Tile, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that convolves.

    Args:
        spec: the convolution, of int8.
        tile: from ``choose_tile``.
        epilogue: what the sums become; its form is not wide.

    Returns:
        A function of the data; weights as ``packed_rows`` gives them, the epilogue's constants;
        and the output.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("conv2d")
        T.func_attr({"global_symbol": "conv2d", "tirx.noalias": True})
        writer = _Writer(spec, tile, epilogue)
        with reading_vectors():
            writer.write()
    return builder.get()


class _Writer:
    def __init__(self, spec: ConvSpec, tile: Tile, epilogue: Epilogue) -> None:
        self.spec, self.tile, self.epilogue = spec, tile, epilogue
        self.vectors = vectors_of(spec)
        self.depth = self.vectors * SIZE
        channels = -(-spec.out_channels // FOUR) * FOUR
        self.data, self.weights, self.fields, self.output = arguments(
            spec, channels * self.depth, constants(epilogue)
        )
        self.is_read = is_pixelwise(spec) and self.depth == spec.in_channels
        self.is_held = self.is_read or tile.pixels * self.vectors <= _MOST_HELD
        self.span = span_of(spec, tile)
        # Of each step of a sum, how many vectors there are, and how far apart pixels are.
        self.taps, self.pitch = 1, self.depth
        size = tile.pixels * self.depth
        if self.span is not None:
            self.taps, self.pitch = spec.kernel_width, spec.in_channels
            size = spec.kernel_height * self.span.kernel_width * spec.in_channels
        if not self.is_read:
            self.values = T.alloc_buffer((size,), "int8")

    def write(self) -> None:
        spec, tile = self.spec, self.tile
        taps = spec.kernel_height * spec.kernel_width
        if not self.is_read and self.depth > taps * spec.in_channels:
            # Nothing of it counts, but nothing of it is undefined.
            with T.serial(tile.pixels * self.vectors) as i:
                T.buffer_store(self.values, splat("int8", 0, SIZE), [T.ramp(i * SIZE, 1, SIZE)])
        # The last tile, of all pixels or of a row's, may do some pixels again.
        if self.span is not None:
            last = spec.out_width - tile.pixels
            with (
                T.serial(spec.batch * spec.out_height) as row,
                T.serial(-(-spec.out_width // tile.pixels)) as number,
            ):
                first = kept(row * spec.out_width + T.min(number * tile.pixels, last))
                self._gather(self.span, first, T.int32(0))
                self._channels(first)
            return
        with T.serial(-(-spec.out_pixels // tile.pixels)) as number:
            first = kept(T.min(number * tile.pixels, spec.out_pixels - tile.pixels))
            if not self.is_read:
                with T.serial(tile.pixels) as i:
                    self._gather(spec, kept(first + i), kept(i * self.depth))
            self._channels(first)

    def _channels(self, first: Index) -> None:
        channels = self.spec.out_channels
        with T.serial(channels // FOUR) as group:
            self._four(first, group, FOUR)
        if rest := channels % FOUR:
            self._four(first, channels // FOUR, rest)

    def _gather(self, spec: ConvSpec, pixel: Index, to: Index) -> None:
        def copy(start: Index, place: Index, count: int) -> None:
            def piece(offset: Index, width: int) -> None:
                value = self.data[ramp(start + offset, width)]
                if width == SIZE:
                    is_aligned = spec.in_channels % WORD == 0
                    value = vector_of(self.data, start + offset) if is_aligned else unseen(value)
                T.buffer_store(self.values, value, [ramp(to + place + offset, width)])

            _in_pieces(count, piece)

        def fill(place: Index, count: int) -> None:
            def piece(offset: Index, width: int) -> None:
                value = splat("int8", self.spec.input_zero_point, width)
                T.buffer_store(self.values, value, [ramp(to + place + offset, width)])

            _in_pieces(count, piece)

        gather(spec, pixel, copy, fill)

    def _four(self, first: Index, group: Index, count: int) -> None:
        """Write the outputs of four channels, or of the last ones."""
        pixels, channels = self.tile.pixels, self.tile.channels
        totals = [T.alloc_buffer((FOUR,), "int32", scope="global") for _ in range(pixels)]
        for part in range(FOUR // channels):
            sums = self._sums(first, group * (FOUR // channels) + part)
            for q in range(channels):
                for i in range(pixels):
                    T.buffer_store(totals[i], sums[q * pixels + i], [part * channels + q])
        fields = Fields(self.epilogue, self.fields, group)
        for i in range(pixels):
            value = fields.rescaled(kept(totals[i][T.ramp(0, 1, FOUR)]))
            self._store(value, (first + i) * self.spec.out_channels + group * FOUR, count)

    def _store(self, value: Vector, to: Index, count: int) -> None:
        dtype = self.spec.output.dtype
        if count == FOUR:
            T.buffer_store(self.output, T.Cast(f"{dtype}x4", value), [T.ramp(to, 1, FOUR)])
            return
        value = kept(value)
        for lane in range(count):
            T.buffer_store(self.output, T.Cast(dtype, T.Shuffle([value], [lane])), [to + lane])

    def _sums(self, first: Index, part: Index) -> list[Index]:
        pixels, channels = self.tile.pixels, self.tile.channels
        sums = T.alloc_buffer((pixels * channels,), "int32", scope="global")
        for i in range(pixels * channels):
            T.buffer_store(sums, T.int32(0), [i])
        first_value = first * self.depth if self.is_read else T.int32(0)
        first_weight = part * self.vectors * channels * SIZE
        if not self.is_held:
            # Else LLVM lifts loads out of loops, and spills what they gave.
            first_value, first_weight = unseen_index(first_value), unseen_index(first_weight)

        source = self.data if self.is_read else self.values

        def add(step: Index) -> None:
            place = first_value + self._place(step)
            values = [
                self._vector(source, place + j * self.pitch) for j in range(pixels + self.taps - 1)
            ]
            for tap in range(self.taps):
                for q in range(channels):
                    number = (step * self.taps + tap) * channels + q
                    weights = self._vector(self.weights, first_weight + number * SIZE)
                    for i in range(pixels):
                        total = dot(values[i + tap], weights, sums[q * pixels + i])
                        T.buffer_store(sums, total, [q * pixels + i])

        unrolled = self._unrolled()
        turns: Index = self.vectors // self.taps // unrolled
        if turns > 1 and not self.is_held:
            # Else it writes all turns out, and does so likewise.
            turns = unseen_index(T.int32(turns))
        with T.serial(turns) as turn:
            for n in range(unrolled):
                add(turn * unrolled + n)
        return [sums[i] for i in range(pixels * channels)]

    def _place(self, step: Index) -> Index:
        """Return where the first pixel's vector of a step lies behind the tile's first one."""
        if self.span is None:
            return step * SIZE
        count = self.spec.in_channels // SIZE
        row, rest = T.truncdiv(step, count), T.truncmod(step, count)
        return row * self.span.kernel_width * self.spec.in_channels + rest * SIZE

    def _unrolled(self) -> int:
        """Return the steps in a turn of a sum's loop: all if there are few, else a divisor."""
        written_out, most = _HELD if self.is_held else _READ_ANEW
        steps = self.vectors // self.taps
        if self.vectors <= written_out:
            return steps
        if self.span is not None:
            steps, most = self.spec.in_channels // SIZE, _MOST_SHARED
        return max(n for n in range(1, most + 1) if steps % n == 0 and n < self.vectors)

    def _vector(self, buffer: Buffer, start: Index) -> Vector:
        return kept(buffer[T.ramp(start, 1, SIZE)]) if self.is_held else vector_of(buffer, start)


def _in_pieces(count: int, piece: Callable[[Index, int], None]) -> None:
    """Write something for ``count`` bytes: vectors, the last of which may overlap."""
    if count < SIZE:
        for offset, width in powers_of_two(count):
            # Two lanes are no vector.
            for at in range(offset, offset + width, 1) if width == 2 else (offset,):
                piece(at, 1 if width == 2 else width)
        return
    with T.serial(count // SIZE) as i:
        piece(i * SIZE, SIZE)
    if count % SIZE:
        piece(count - SIZE, SIZE)
