"""Convolutions and dense layers with Helium: sums of sixteen products at a time.

What a few pixels read is gathered first, with its padding; where it lies in the data as it is
needed, nothing is. Sums of four channels are rescaled together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
from legalize.kernels.ir.types import Array, Index, Vector
from legalize.kernels.ir.vectors import splat
from legalize.kernels.isa.helium import FOUR, SIZE, dot

_WRITTEN_OUT = 5  # vectors of a sum whose loop is written out
_UNROLLED = (6, 5, 4, 3, 2, 1)  # vectors in a turn of a longer one


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


def packed_rows(rows: Array, tile: Tile) -> Array:
    """Return int8 weights in the order in which a kernel reads them.

    Args:
        rows: of each output channel.
        tile: of the kernel.
    """
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
        _Writer(spec, tile, epilogue).write()
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
        if not self.is_read:
            self.values = T.alloc_buffer((tile.pixels * self.depth,), "int8")

    def write(self) -> None:
        spec, tile = self.spec, self.tile
        taps = spec.kernel_height * spec.kernel_width
        if not self.is_read and self.depth > taps * spec.in_channels:
            # Nothing of it counts, but nothing of it is undefined.
            with T.serial(tile.pixels * self.vectors) as i:
                T.buffer_store(self.values, splat("int8", 0, SIZE), [T.ramp(i * SIZE, 1, SIZE)])
        with T.serial(-(-spec.out_pixels // tile.pixels)) as number:
            # The last tile may do some pixels again.
            first = kept(T.min(number * tile.pixels, spec.out_pixels - tile.pixels))
            if not self.is_read:
                with T.serial(tile.pixels) as i:
                    self._gather(kept(first + i), kept(i * self.depth))
            with T.serial(spec.out_channels // FOUR) as group:
                self._four(first, group, FOUR)
            if rest := spec.out_channels % FOUR:
                self._four(first, spec.out_channels // FOUR, rest)

    def _gather(self, pixel: Index, to: Index) -> None:
        def copy(start: Index, place: Index, count: int) -> None:
            def piece(offset: Index, width: int) -> None:
                value = self.data[ramp(start + offset, width)]
                T.buffer_store(self.values, value, [ramp(to + place + offset, width)])

            _in_pieces(count, piece)

        def fill(place: Index, count: int) -> None:
            def piece(offset: Index, width: int) -> None:
                value = splat("int8", self.spec.input_zero_point, width)
                T.buffer_store(self.values, value, [ramp(to + place + offset, width)])

            _in_pieces(count, piece)

        gather(self.spec, pixel, copy, fill)

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
        unrolled = self.vectors
        if unrolled > _WRITTEN_OUT:
            unrolled = next(n for n in _UNROLLED if self.vectors % n == 0 and n < self.vectors)

        def add(step: Index) -> None:
            values = []
            for i in range(pixels):
                source, start = (self.data, first + i) if self.is_read else (self.values, i)
                values.append(kept(source[T.ramp(start * self.depth + step * SIZE, 1, SIZE)]))
            for q in range(channels):
                place = ((part * self.vectors + step) * channels + q) * SIZE
                weights = kept(self.weights[T.ramp(place, 1, SIZE)])
                for i in range(pixels):
                    total = dot(values[i], weights, sums[q * pixels + i])
                    T.buffer_store(sums, total, [q * pixels + i])

        with T.serial(self.vectors // unrolled) as turn:
            for n in range(unrolled):
                add(turn * unrolled + n)
        return [sums[i] for i in range(pixels * channels)]


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
