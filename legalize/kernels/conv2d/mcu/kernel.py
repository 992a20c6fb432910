"""Convolutions and dense layers on microcontrollers: a few pixels and channels at a time.

The data of some pixels is gathered first, with its padding, so that one loop computes all products
of a tile. Cores that multiply pairs then unpack the data once for all channels.

Cores that multiply pairs read the weights of two channels as one 16-bit number, a + 256·b. Products
with it and, after one more instruction, with a alone give both sums, as 256·Σb·x = Σ(a + 256·b)·x −
Σa·x. This saves half of the unpacking.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue, Fields
from legalize.kernels.conv2d.mcu.window import gather, is_pixelwise
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import Array, Buffer, Index, kept
from legalize.kernels.isa.mcu import (
    WORD,
    WORDS_CODE,
    add_products,
    copy_bytes,
    half_of,
    importing,
    in_turns,
    number,
    unpacked,
    word_of,
    words_of,
)
from legalize.written import arguments as declared
from legalize.written import new_function

JOINED = 8
"""The bits between the weights of two channels that are read as one number."""

MOST_KEPT = 1023
"""A single pixel's unpacked values are kept up to this many bytes; tiles unpack more anew."""


_MOST, _LESS = 4, 2  # words of an iteration, in functions for all sizes


@dataclass(frozen=True)
class Tile:
    """The outputs that are computed at a time.

    Attributes:
        pixels: pixels whose sums are computed together.
        channels: channels of each pixel; their number divides the number of output channels.
        has_pairs: whether two products are added at a time.
        is_joined: whether the weights of two channels are read as one number.
        most: the most steps of an iteration.
    """

    pixels: int
    channels: int
    has_pairs: bool
    is_joined: bool = False
    most: int = 4


def choose_tile(
    spec: ConvSpec, *, has_pairs: bool, can_join: bool = False, is_plain_c: bool = False
) -> Tile:
    """Return as many pixels and channels as a core's registers can sum.

    Args:
        spec: the convolution.
        has_pairs: whether the core multiplies pairs.
        can_join: whether weights may be joined by ``join``.
        is_plain_c: whether C is written. Without a schedule, as with -Os, gcc loads values that
            it multiplies twice before it adds the first product of an iteration. So an iteration
            has one step, which more channels share.
    """
    pixels = min(2, spec.out_pixels)
    most_channels = 4 if pixels == 1 or is_plain_c else 2
    channels = next(n for n in (most_channels, 2, 1) if spec.out_channels % n == 0)
    most = (2 if pixels == 1 else 1) if is_plain_c else 4
    return Tile(pixels, channels, has_pairs, has_pairs and can_join and channels > 1, most)


def depth_of(spec: ConvSpec, tile: Tile) -> int:
    """Return the number of products of a sum, including products of zeros in the last word."""
    depth = spec.kernel_height * spec.kernel_width * spec.in_channels
    step = _LESS * WORD if has_sizes(spec, tile) else WORD
    return -(-depth // step) * step if tile.has_pairs else depth


def has_sizes(spec: ConvSpec, tile: Tile) -> bool:
    """Tell whether layers of other sizes share the function.

    Loops of one or two iterations are worth a function of their own, where they are unrolled.
    """
    has_words = tile.has_pairs and spec.in_channels % WORD == 0 and spec.in_channels > _LESS * WORD
    return has_words and is_pixelwise(spec) and spec.out_pixels > 1


def unpacks_anew(spec: ConvSpec, tile: Tile) -> bool:
    """Tell whether each tile unpacks the data anew, which saves the memory for unpacked data.

    Such a tile is a single pixel that reads all of the data, directly from its buffer.
    """
    window, data = (spec.kernel_height, spec.kernel_width), (spec.in_height, spec.in_width)
    reads_all = spec.out_pixels == 1 and window == data and not any(spec.padding)
    depth = depth_of(spec, tile)
    is_large = 2 * depth > MOST_KEPT and spec.in_channels % WORD == 0
    return tile.has_pairs and reads_all and is_large


def join(rows: Array) -> Array | None:
    """Join the weights of each two channels to one int16; None if they do not fit.

    Args:
        rows: int8, the weights of each output channel.
    """
    if len(rows) % 2:
        return None
    joined = rows[::2].astype(np.int64) + (rows[1::2].astype(np.int64) << JOINED)
    return None if joined.min(initial=0) < np.iinfo(np.int16).min else joined.astype("<i2")


def packed_rows(rows: Array, tile: Tile, depth: int) -> Array:
    """Return int8 weights in the order in which a kernel reads them.

    Args:
        rows: the weights of each output channel.
        tile: the kernel's tile.
        depth: from ``depth_of``.
    """
    padded = np.pad(rows, ((0, 0), (0, depth - rows.shape[1])))
    if tile.is_joined:
        joined = join(padded)
        assert joined is not None
        # The first and the third of four values are a pair.
        steps = joined.reshape(-1, tile.channels // 2, depth // WORD, 2, 2)
        return np.ascontiguousarray(steps.transpose(0, 2, 1, 4, 3)).reshape(-1).view(np.int8)
    step = WORD if tile.has_pairs else 1
    steps = padded.reshape(-1, tile.channels, depth // step, step)
    return np.ascontiguousarray(steps.transpose(0, 2, 1, 3)).reshape(-1)


def conv2d(spec: ConvSpec, tile: Tile, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that convolves.

    Args:
        spec: the convolution.
        tile: from ``choose_tile``.
        epilogue: turns the sums into outputs.

    Returns:
        A function of the data; weights from ``packed_rows``, the bias and the epilogue's
        constants; and the output.
    """
    with new_function("conv2d") as builder:
        writer = _Writer(spec, tile, epilogue)
        with importing(WORDS_CODE) if tile.has_pairs else nullcontext():
            writer.write()
    return builder.get()


def arguments(spec: ConvSpec, weights: int, constants: tuple[Array, ...]) -> list[Buffer]:
    """Declare a function's arguments: data, weights, the epilogue's constants, output.

    The data and the output are of one dimension.

    Args:
        spec: the convolution.
        weights: the number of weights.
        constants: the epilogue's constants.
    """
    kinds = {f"constants_{i}": (each.shape, str(each.dtype)) for i, each in enumerate(constants)}
    return declared(
        data=(spec.in_shape, spec.in_dtype),
        weights=((weights,), "int8"),
        **kinds,
        output=(spec.out_shape, spec.output.dtype),
    )


class _Writer:
    def __init__(self, spec: ConvSpec, tile: Tile, epilogue: Epilogue) -> None:
        self.spec, self.tile, self.epilogue = spec, tile, epilogue
        self.depth = depth_of(spec, tile)
        count = self.depth * spec.out_channels
        (self.data, self.weights, *self.constants, self.output) = arguments(
            spec, count, epilogue.constants()
        )
        # If values need not be unpacked, those of single pixels are read in place.
        self.is_read = not tile.has_pairs and is_pixelwise(spec)
        # Words of the data are unpacked as they are copied.
        self.has_words = tile.has_pairs and spec.in_channels % WORD == 0
        self.unpacks_anew = unpacks_anew(spec, tile)
        # Words of an iteration, if a function serves all sizes.
        self.in_a_turn = _MOST if spec.in_channels % (_MOST * WORD) == 0 else _LESS
        if not self.is_read and not self.has_words:
            self.values = T.alloc_buffer((tile.pixels * self.depth,), spec.in_dtype)
        if tile.has_pairs and not self.unpacks_anew:
            self.pairs = T.alloc_buffer((tile.pixels * self.depth // 2,), "int32")

    def write(self) -> None:
        spec, tile = self.spec, self.tile
        if has_sizes(spec, tile):
            self._write_pixels()
            return
        with T.serial(-(-spec.out_pixels // tile.pixels)) as turn:
            # The last tile may repeat some pixels.
            first = kept(T.min(turn * tile.pixels, spec.out_pixels - tile.pixels))
            if not self.is_read and not self.unpacks_anew:
                with T.serial(tile.pixels) as i:
                    self._gather(kept(first + i), i)
            if tile.has_pairs and not self.has_words:
                with T.serial(self.depth // WORD) as j, T.serial(tile.pixels) as i:
                    self._unpack(self.values, i * self.depth + j * WORD, j, i)
            with T.serial(spec.out_channels // tile.channels) as group:
                self._tile(first, group)

    def _write_pixels(self) -> None:
        """Write the code of ``write`` for pixels that are read one by one, of any size."""
        spec, pixels, words = self.spec, self.tile.pixels, self.depth // WORD
        last = spec.in_channels // WORD - 1
        with T.serial(number(-(-spec.out_pixels // pixels))) as turn:
            first = kept(T.min(turn * pixels, number(spec.out_pixels) - pixels))
            with T.serial(number(words)) as j:
                # If there is a surplus word, its weights are zeros.
                word = j if self.in_a_turn == _MOST else kept(T.min(j, number(last)))
                for i in range(pixels):
                    self._unpack(self.data, (first + i) * spec.in_channels + word * WORD, j, i)
            with T.serial(number(spec.out_channels // self.tile.channels)) as group:
                self._tile(first, group)

    def _gather(self, pixel: Index, i: Index) -> None:
        """Copy the data that a pixel reads, padding included."""
        dtype, zero_point = self.spec.in_dtype, self.spec.input_zero_point
        if self.has_words:
            word = T.int32(int(np.full(WORD, zero_point, dtype).view(np.int32)[0]))

            def copy(start: Index, to: Index, count: int) -> None:
                def unpack(j: Index) -> None:
                    self._unpack(self.data, start + j * WORD, T.truncdiv(to, WORD) + j, i)

                # An iteration copies few bytes, so that layers of few channels have the same loop
                # as others.
                in_turns(count // WORD, unpack, most=2)

            def fill(to: Index, count: int) -> None:
                pairs = unpacked(word, dtype)
                with T.serial(count // WORD) as j:
                    self._keep_pairs(pairs, T.truncdiv(to, WORD) + j, i)

            gather(self.spec, pixel, copy, fill)
            return
        first = kept(i * self.depth)

        def copy_values(start: Index, to: Index, count: int) -> None:
            copy_bytes(self.data, start, self.values, first + to, count)

        def fill_values(to: Index, count: int) -> None:
            with T.serial(count) as c:
                value = T.Cast(dtype, T.int32(zero_point))
                T.buffer_store(self.values, value, [first + to + c])

        gather(self.spec, pixel, copy_values, fill_values)
        spec = self.spec
        gathered = spec.kernel_height * spec.kernel_width * spec.in_channels
        if gathered < self.depth:
            fill_values(gathered, self.depth - gathered)

    def _unpack(self, source: Buffer, start: Index, j: Index, i: Index) -> None:
        self._keep_pairs(unpacked(word_of(source, start), self.spec.in_dtype), j, i)

    def _keep_pairs(self, pairs: list[Index], j: Index, i: Index) -> None:
        for half, pair in enumerate(pairs):
            T.buffer_store(self.pairs, pair, [(j * 2 + half) * self.tile.pixels + i])

    def _tile(self, first: Index, group: Index) -> None:
        pixels, channels = self.tile.pixels, self.tile.channels
        sums = T.alloc_buffer((pixels * channels,), "int32", scope="global")
        for q in range(channels):
            start = self._start(group * channels + q, q)
            for i in range(pixels):
                T.buffer_store(sums, start, [q * pixels + i])
        step = WORD if self.tile.has_pairs else 1
        turns = self.depth // step

        def add(k: Index) -> None:
            place = (group * turns + k) * channels * step
            if self.tile.has_pairs:
                self._add_pairs(sums, k, place)
            else:
                self._add_values(sums, first, k, place)

        if has_sizes(self.spec, self.tile):
            each = self.in_a_turn
            with T.serial(number(turns // each)) as turn:
                for n in range(each):
                    add(turn * each + n)
        else:
            in_turns(turns, add, self.tile.most)
        for q in range(channels):
            channel = kept(group * channels + q)
            fields = self.epilogue.fields(channel, self.constants, has_pairs=self.tile.has_pairs)
            for i in range(pixels):
                self._finish(sums, q, i, fields, (first + i) * self.spec.out_channels + channel)

    def _start(self, channel: Index, q: int) -> Index:
        start = self.epilogue.start(channel, self.constants)
        if not self.tile.is_joined or q % 2 == 0 or self.epilogue.bias is None:
            return kept(start)
        below = self.epilogue.start(channel - 1, self.constants)
        return kept(T.shift_left(start, T.int32(JOINED)) + below)

    def _finish(self, sums: Buffer, q: int, i: int, fields: Fields, to: Index) -> None:
        pixels = self.tile.pixels
        total, lifted = sums[q * pixels + i], 0
        if self.tile.is_joined and q % 2:
            total, lifted = kept(total - sums[(q - 1) * pixels + i]), JOINED
        T.buffer_store(self.output, self.epilogue.rescaled(total, fields, lifted), [to])

    def _add_values(self, sums: Buffer, first: Index, k: Index, place: Index) -> None:
        pixels = self.tile.pixels
        values = []
        for i in range(pixels):
            if self.is_read:
                value = self.data[(first + i) * self.depth + k]
            else:
                value = self.values[i * self.depth + k]
            values.append(kept(T.Cast("int32", value)))
        for q in range(self.tile.channels):
            weight = kept(T.Cast("int32", self.weights[place + q]))
            for i in range(pixels):
                total = sums[q * pixels + i] + values[i] * weight
                T.buffer_store(sums, total, [q * pixels + i])

    def _add_pairs(self, sums: Buffer, k: Index, place: Index) -> None:
        """Add the products of four values, for one channel or two channels at a time."""
        pixels, channels = self.tile.pixels, self.tile.channels
        words = words_of(self.weights, place, channels)
        for half, values in enumerate(self._halves(k)):
            for q in range(channels):
                if self.tile.is_joined:
                    both = words[q // 2 * 2 + half]
                    weights = both if q % 2 else half_of(both, 0)
                else:
                    weights = half_of(words[q], half)
                for i in range(pixels):
                    total = add_products(values[i], weights, sums[q * pixels + i])
                    T.buffer_store(sums, total, [q * pixels + i])

    def _halves(self, k: Index) -> Iterator[list[Index]]:
        """Yield each half of four values of all pixels; an even number is read half by half."""
        pixels = self.tile.pixels
        if pixels % 2 == 0:
            for half in range(2):
                yield words_of(self.pairs, (k * 2 + half) * pixels, pixels)
            return
        if self.unpacks_anew:
            values = unpacked(word_of(self.data, k * WORD), self.spec.in_dtype)
        else:
            values = words_of(self.pairs, k * 2 * pixels, 2 * pixels)
        yield values[:pixels]
        yield values[pixels:]
