"""Convolutions and dense layers on microcontrollers: a few pixels and channels at a time.

The values that some pixels read are gathered first, with their padding, so that one loop goes over
all products of a tile; where they lie in the data as they are needed, nothing is gathered. Cores
that multiply pairs unpack them then, once for all channels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Array, Buffer, Index
from legalize.kernels.isa.mcu import WORD, add_products, unpacked, word_of


@dataclass(frozen=True)
class Tile:
    """What is computed at a time.

    Attributes:
        pixels: whose sums are added up together.
        channels: of each; they divide the output's.
        has_pairs: whether two products are added at a time.
    """

    pixels: int
    channels: int
    has_pairs: bool


def choose_tile(spec: ConvSpec, *, has_pairs: bool) -> Tile:
    """Return as many pixels and channels as the registers of a core have sums for."""
    if spec.out_pixels == 1:
        channels = 4 if spec.out_channels % 4 == 0 else 2
        pixels = 1
    else:
        pixels, channels = min(3 if has_pairs else 2, spec.out_pixels), 2
    return Tile(pixels, channels if spec.out_channels % channels == 0 else 1, has_pairs)


def depth_of(spec: ConvSpec, tile: Tile) -> int:
    """Return the products of a sum, with those of zeros that fill the last word."""
    depth = spec.kernel_height * spec.kernel_width * spec.in_channels
    return -(-depth // WORD) * WORD if tile.has_pairs else depth


def packed_rows(rows: Array, tile: Tile, depth: int) -> Array:
    """Return int8 weights in the order in which a kernel reads them.

    Args:
        rows: of each output channel.
        tile: of the kernel.
        depth: as ``depth_of`` gives it.
    """
    step = WORD if tile.has_pairs else 1
    padded = np.pad(rows, ((0, 0), (0, depth - rows.shape[1])))
    steps = padded.reshape(-1, tile.channels, depth // step, step)
    return np.ascontiguousarray(steps.transpose(0, 2, 1, 3)).reshape(-1)


def conv2d(spec: ConvSpec, tile: Tile, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that convolves.

    Args:
        spec: the convolution.
        tile: from ``choose_tile``.
        epilogue: what the sums become.

    Returns:
        A function of the data; weights as ``packed_rows`` gives them, the bias and the epilogue's
        constants; and the output.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("conv2d")
        T.func_attr({"global_symbol": "conv2d", "tirx.noalias": True})
        _Writer(spec, tile, epilogue).write()
    return builder.get()


def arguments(spec: ConvSpec, weights: int, epilogue: Epilogue) -> list[Buffer]:
    """Declare a function's arguments: data, weights, bias, the epilogue's constants, output.

    The data and the output are of one dimension.

    Args:
        spec: the convolution.
        weights: how many there are.
        epilogue: has the constants.
    """
    data = T.arg("data", T.buffer(spec.in_shape, spec.in_dtype))
    constants = [
        T.arg("weights", T.buffer((weights,), "int8")),
        T.arg("bias", T.buffer((spec.out_channels,), "int32")),
        *(
            T.arg(f"constants_{number}", T.buffer(array.shape, str(array.dtype)))
            for number, array in enumerate(epilogue.constants)
        ),
    ]
    output = T.arg("output", T.buffer(spec.out_shape, spec.output.dtype))
    flat = [
        T.decl_buffer((int(np.prod(shape)),), dtype, data=buffer.data)
        for buffer, shape, dtype in (
            (data, spec.in_shape, spec.in_dtype),
            (output, spec.out_shape, spec.output.dtype),
        )
    ]
    return [flat[0], *constants, flat[1]]


class _Writer:
    def __init__(self, spec: ConvSpec, tile: Tile, epilogue: Epilogue) -> None:
        self.spec, self.tile, self.epilogue = spec, tile, epilogue
        self.depth = depth_of(spec, tile)
        (self.data, self.weights, self.bias, *self.constants, self.output) = arguments(
            spec, self.depth * spec.out_channels, epilogue
        )
        window = spec.kernel_height, spec.kernel_width, *spec.strides
        is_pixelwise = window == (1, 1, 1, 1) and not any(spec.padding)
        self.is_gathered = not is_pixelwise or self.depth != spec.in_channels
        if self.is_gathered:
            self.patches = T.alloc_buffer((tile.pixels * self.depth,), spec.in_dtype)
        # A single pixel is as well unpacked where it is multiplied.
        self.is_unpacked = tile.has_pairs and tile.pixels > 1
        if self.is_unpacked:
            self.pairs = T.alloc_buffer((tile.pixels * self.depth // 2,), "int32")

    def write(self) -> None:
        spec, tile = self.spec, self.tile
        with T.serial(-(-spec.out_pixels // tile.pixels)) as number:
            # The last tile may do some pixels again.
            first = kept(T.min(number * tile.pixels, spec.out_pixels - tile.pixels))
            if self.is_gathered:
                with T.serial(tile.pixels) as i:
                    self._gather(first + i, i * self.depth)
            if self.is_unpacked:
                with T.serial(self.depth // WORD) as j:
                    self._unpack(first, j)
            with T.serial(spec.out_channels // tile.channels) as group:
                self._tile(first, group)

    def _gather(self, pixel: Index, to: Index) -> None:
        """Copy what a pixel reads, and the padding in it."""
        spec = self.spec
        channels, (top, left, *_) = spec.in_channels, spec.padding
        area = spec.out_height * spec.out_width
        image, within = kept(pixel // area), kept(pixel % area)
        y = kept(within // spec.out_width * spec.strides[0] - top)
        x = kept(within % spec.out_width * spec.strides[1] - left)
        with T.serial(spec.kernel_height) as down, T.serial(spec.kernel_width) as across:
            row, column = kept(y + down * spec.dilation[0]), kept(x + across * spec.dilation[1])
            start = ((image * spec.in_height + row) * spec.in_width + column) * channels
            place = to + (down * spec.kernel_width + across) * channels

            def copy(start: Index = start, place: Index = place) -> None:
                with T.serial(channels) as c:
                    T.buffer_store(self.patches, self.data[start + c], [place + c])

            if any(spec.padding):
                rows = T.And(row >= 0, row < spec.in_height)
                columns = T.And(column >= 0, column < spec.in_width)
                with T.If(T.And(rows, columns)):
                    with T.Then():
                        copy()
                    with T.Else(), T.serial(channels) as c:
                        self._fill(place + c)
            else:
                copy()
        if filled := self.depth - spec.kernel_height * spec.kernel_width * channels:
            with T.serial(filled) as c:
                self._fill(to + (self.depth - filled) + c)

    def _fill(self, place: Index) -> None:
        value = T.Cast(self.spec.in_dtype, T.int32(self.spec.input_zero_point))
        T.buffer_store(self.patches, value, [place])

    def _place(self, first: Index, i: int, k: Index) -> tuple[Buffer, Index]:
        """Return where value k of pixel i of the tile is."""
        if self.is_gathered:
            return self.patches, i * self.depth + k
        return self.data, (first + i) * self.depth + k

    def _unpack(self, first: Index, j: Index) -> None:
        pixels = self.tile.pixels
        for i in range(pixels):
            word = word_of(*self._place(first, i, j * WORD))
            for half, pair in enumerate(unpacked(word, self.spec.in_dtype)):
                T.buffer_store(self.pairs, pair, [(j * 2 + half) * pixels + i])

    def _tile(self, first: Index, group: Index) -> None:
        pixels, channels = self.tile.pixels, self.tile.channels
        sums = T.alloc_buffer((pixels * channels,), "int32", scope="global")
        for q in range(channels):
            for i in range(pixels):
                T.buffer_store(sums, self.bias[group * channels + q], [q * pixels + i])
        step = WORD if self.tile.has_pairs else 1
        with T.serial(self.depth // step) as k:
            place = (group * (self.depth // step) + k) * channels * step
            if self.tile.has_pairs:
                self._add_pairs(sums, first, k, place)
            else:
                self._add_values(sums, first, k, place)
        for q in range(channels):
            for i in range(pixels):
                channel = kept(group * channels + q)
                value = self.epilogue.rescaled(sums[q * pixels + i], channel, self.constants)
                place = (first + i) * self.spec.out_channels + channel
                T.buffer_store(self.output, value, [place])

    def _add_values(self, sums: Buffer, first: Index, k: Index, place: Index) -> None:
        pixels = self.tile.pixels
        values = []
        for i in range(pixels):
            buffer, at = self._place(first, i, k)
            values.append(kept(T.Cast("int32", buffer[at])))
        for q in range(self.tile.channels):
            weight = kept(T.Cast("int32", self.weights[place + q]))
            for i in range(pixels):
                total = sums[q * pixels + i] + values[i] * weight
                T.buffer_store(sums, total, [q * pixels + i])

    def _add_pairs(self, sums: Buffer, first: Index, k: Index, place: Index) -> None:
        pixels = self.tile.pixels
        if self.is_unpacked:
            values = [
                [kept(self.pairs[(k * 2 + half) * pixels + i]) for i in range(pixels)]
                for half in range(2)
            ]
        else:
            word = word_of(*self._place(first, 0, k * WORD))
            values = [[pair] for pair in unpacked(word, self.spec.in_dtype)]
        for q in range(self.tile.channels):
            weights = unpacked(word_of(self.weights, place + q * WORD), "int8")
            for half in range(2):
                for i in range(pixels):
                    total = add_products(values[half][i], weights[half], sums[q * pixels + i])
                    T.buffer_store(sums, total, [q * pixels + i])
