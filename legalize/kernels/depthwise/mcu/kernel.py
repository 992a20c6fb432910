"""Depthwise convolutions on microcontrollers.

The rows that an output row reads are copied with their padding, each once. The next output row
finds the rows that it shares where they are.
"""

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.kernel import arguments
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.mcu.band import Band
from legalize.kernels.ir.vectors import Array, Buffer, Index, kept
from legalize.kernels.isa.mcu import (
    WORD,
    WORDS_CODE,
    add_product,
    importing,
    number,
    unpacked,
    word_of,
    words_of,
)
from legalize.written import new_function


def packed_taps(kernel: Array, *, has_pairs: bool) -> Array:
    """Return weights in the order in which a kernel reads them.

    Args:
        kernel: int8 [KH, KW, channels].
        has_pairs: whether the weights of four channels fill a register.
    """
    taps = kernel.reshape(-1, kernel.shape[2])
    if not has_pairs:
        return np.ascontiguousarray(taps).reshape(-1)
    fours = taps.reshape(len(taps), -1, WORD).transpose(1, 0, 2)
    return np.ascontiguousarray(fours).reshape(-1)


def depthwise_conv2d(spec: ConvSpec, epilogue: Epilogue, *, has_pairs: bool) -> tirx.PrimFunc:
    """Build the function that convolves each channel by itself.

    Args:
        spec: the convolution, without dilation.
        epilogue: turns the sums into outputs.
        has_pairs: whether four channels are unpacked at a time; four must divide their number.

    Returns:
        A function of the data; weights from ``packed_taps``, the bias and the epilogue's
        constants; and the output.
    """
    with new_function("depthwise_conv2d") as builder:
        writer = _Writer(spec, epilogue, has_pairs=has_pairs)
        with importing(WORDS_CODE) if has_pairs else nullcontext():
            writer.write()
    return builder.get()


class _Writer:
    def __init__(self, spec: ConvSpec, epilogue: Epilogue, *, has_pairs: bool) -> None:
        self.spec, self.epilogue, self.has_pairs = spec, epilogue, has_pairs
        count = spec.kernel_height * spec.kernel_width * spec.out_channels
        (self.data, self.weights, *self.constants, self.output) = arguments(
            spec, count, epilogue.constants()
        )
        # One function serves layers of all sizes.
        self.size_of = number if has_pairs else T.int32
        self.band = Band(spec, self.data, WORD if has_pairs else 1, self.size_of)

    def write(self) -> None:
        spec = self.spec
        with T.serial(spec.batch) as image:
            self.band.fill()
            with T.serial(self.size_of(spec.out_height)) as y:
                rows = self.band.read(image, y)
                with T.serial(self.size_of(spec.out_width)) as x:
                    pixel = (image * spec.out_height + y) * spec.out_width + x
                    self._pixel(rows, kept(x * spec.strides[1] * spec.in_channels), kept(pixel))

    def _pixel(self, rows: Sequence[Index], column: Index, pixel: Index) -> None:
        spec = self.spec
        lanes = WORD if self.has_pairs else 1
        with T.serial(self.size_of(spec.out_channels // lanes)) as group:
            sums = T.alloc_buffer((lanes,), "int32", scope="global")
            for lane in range(lanes):
                T.buffer_store(
                    sums, self.epilogue.start(group * lanes + lane, self.constants), [lane]
                )
            places = [
                rows[down] + column + across * spec.in_channels + group * lanes
                for down in range(spec.kernel_height)
                for across in range(spec.kernel_width)
            ]
            words: list[Index] = []
            for tap, place in enumerate(places):
                if self.has_pairs:
                    if not words:  # of two taps
                        start = (group * len(places) + tap) * WORD
                        words = words_of(self.weights, start, min(2, len(places) - tap))
                    self._add_four(sums, words.pop(0), place)
                else:
                    weight = T.Cast("int32", self.weights[tap * spec.out_channels + group])
                    product = T.Cast("int32", self.band.buffer[place]) * weight
                    T.buffer_store(sums, sums[0] + product, [0])
            for lane in range(lanes):
                channel = kept(group * lanes + lane)
                fields = self.epilogue.fields(channel, self.constants, has_pairs=self.has_pairs)
                value = self.epilogue.rescaled(sums[lane], fields)
                T.buffer_store(self.output, value, [pixel * spec.out_channels + channel])

    def _add_four(self, sums: Buffer, word: Index, place: Index) -> None:
        """Add the products of a tap of four channels."""
        pairs = unpacked(word_of(self.band.buffer, place), self.spec.in_dtype)
        for half, (pair, weights) in enumerate(zip(pairs, unpacked(word, "int8"), strict=True)):
            for top in (False, True):
                # Bytes 0 and 2 of a register are a pair, and 1 and 3.
                lane = half + 2 * top
                total = add_product(pair, weights, sums[lane], top=top)
                T.buffer_store(sums, total, [lane])
