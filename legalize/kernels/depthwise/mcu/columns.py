"""Depthwise convolutions with Helium, of windows of up to four by four: a channel at a time.

A register holds four columns of a channel, each of four rows: all that an output depends on, whose
products one instruction adds up. So rows are copied first, each once, value by value, to where a
channel's columns follow one another. Where four rows are two windows, what is read serves two
outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.kernel import arguments
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Array, Index, Vector
from legalize.kernels.ir.vectors import splat
from legalize.kernels.isa.helium import (
    EIGHT,
    FOUR,
    SIZE,
    dot,
    lifted,
    narrowed_by,
    reading_vectors,
    rotated,
    scatter,
    unseen_count,
    unseen_index,
    upper_products,
    upper_products_and,
    vector_of,
)
from legalize.kernels.isa.mcu import number as size_of
from legalize.kernels.isa.mcu import reading_words, words_of

_NARROWEST = 6  # outputs in a row; for fewer the copying is not worth it
_FIXED = 16  # instructions of a turn beside those of its outputs, about; see _pixels


def serves(spec: ConvSpec) -> bool:
    """Tell whether windows fit into registers, vectors have the channels, and rows are long."""
    fits = spec.kernel_height <= FOUR and spec.kernel_width <= FOUR
    # Of eight lanes the offsets have 16 bits.
    farthest = (EIGHT - 1) * max(_pitch(spec), spec.out_channels)
    fits = fits and farthest < 1 << 16
    return fits and spec.out_channels >= EIGHT and spec.out_width >= _NARROWEST


def packed(spec: ConvSpec, rows: Array) -> Array:
    """Return weights as they are read: of each channel a vector of four columns of four.

    Args:
        spec: the convolution.
        rows: int8 [channels, taps].
    """
    columns = np.zeros((spec.out_channels, FOUR, FOUR), np.int8)
    taps = rows.reshape(-1, spec.kernel_height, spec.kernel_width)
    columns[:, : spec.kernel_width, : spec.kernel_height] = taps.transpose(0, 2, 1)
    return columns.reshape(-1)


def depthwise_conv2d(spec: ConvSpec, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that convolves each channel by itself.

    Args:
        spec: the convolution, of int8 and without dilation, which ``serves`` takes.
        epilogue: what the sums become; its form is not wide.

    Returns:
        A function of the data; what ``packed`` gives; the epilogue's constants; and the output.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("depthwise_conv2d")
        T.func_attr({"global_symbol": "depthwise_conv2d", "tirx.noalias": True})
        writer = _Writer(spec, epilogue)
        with reading_vectors(), reading_words():
            writer.write()
    return builder.get()


class _Writer:
    def __init__(self, spec: ConvSpec, epilogue: Epilogue) -> None:
        self.spec, self.epilogue = spec, epilogue
        self.data, self.weights, self.fields, self.output = arguments(
            spec, spec.out_channels * SIZE, epilogue.constants()
        )
        # Windows below one another whose rows are four or fewer.
        has_two = spec.strides[0] == 1 and spec.kernel_height < FOUR and spec.out_height > 1
        self.windows = 2 if has_two else 1
        self.rows = spec.kernel_height + (self.windows - 1) * spec.strides[0]
        self.pixels = _pixels(spec)
        # A channel's padding on the right is the next one's on the left. A row's place in a
        # register is its number's, by four.
        _, left, _, right = spec.padding
        self.between, self.pitch = max(left, right), _pitch(spec)
        # What is read behind the last window's columns counts for nothing.
        size = left * FOUR + spec.out_channels * self.pitch + SIZE
        self.columns = T.alloc_buffer((size,), "int8")

    def write(self) -> None:
        spec = self.spec
        step = self.windows * spec.strides[0]
        lanes = [min(lane, self.pixels - 1) for lane in range(EIGHT)]
        self.offsets = _offsets(spec.out_channels, lanes)
        if self.between:
            self._pad()
        turns = -(-spec.out_height // self.windows)
        with T.serial(spec.batch) as image, T.serial(turns) as turn:
            first = kept(turn * step)
            with T.serial(self.rows) as n:
                is_new = T.Or(turn == 0, n >= self.rows - step)
                with T.If(is_new), T.Then():
                    self._copy(image, kept(first + n))
            self._channels(image, turn, first)

    def _pad(self) -> None:
        """Write the padding on the left of the first channel, and on the right of each."""
        spec = self.spec
        left = spec.padding[1]

        def fill(place: Index, columns: int) -> None:
            for column in range(columns):
                value = splat("int8", spec.input_zero_point, FOUR)
                T.buffer_store(self.columns, value, [T.ramp(place + column * FOUR, 1, FOUR)])

        fill(T.int32(0), left)
        # Else LLVM writes the loop out.
        with T.serial(unseen_count(spec.out_channels)) as channel:
            fill(channel * self.pitch + (left + spec.in_width) * FOUR, self.between)

    def _copy(self, image: Index, number: Index) -> None:
        """Copy a row of the padded data, by its number."""
        spec = self.spec
        top, left, *_ = spec.padding
        row, slot = kept(number - top), kept(number % FOUR)
        offsets = _offsets(self.pitch, range(EIGHT))
        # Else LLVM writes the loops out.
        count = unseen_count(spec.in_width)
        blocks = unseen_count(-(-spec.in_channels // EIGHT))
        with T.serial(blocks) as block:
            # The last channels may be copied again.
            first = kept(T.min(block * EIGHT, size_of(spec.in_channels) - EIGHT))
            pixel = (image * spec.in_height + row) * spec.in_width
            start = unseen_index(pixel * spec.in_channels + first)
            place = unseen_index(first * self.pitch + left * FOUR + slot)
            last = (EIGHT - 1) * self.pitch

            def put(values: Vector, x: Index) -> None:
                scatter(self.columns, place + x * FOUR, offsets, values, last)

            with T.If(T.And(row >= 0, row < spec.in_height)):
                with T.Then(), T.serial(count) as x:
                    values = self.data[T.ramp(start + x * spec.in_channels, 1, EIGHT)]
                    put(T.Cast("int16x8", values), x)
                with T.Else(), T.serial(count) as x:
                    put(splat("int16", spec.input_zero_point, EIGHT), x)

    def _channels(self, image: Index, turn: Index, first: Index) -> None:
        spec, count = self.spec, len(self.epilogue.rows)
        y = kept(turn * self.windows)
        bits = kept(first % FOUR * 8)
        with T.serial(spec.out_channels) as channel:
            # Their rows take the places which the data's have.
            words = T.reinterpret("int32x4", vector_of(self.weights, channel * SIZE))
            words = kept(rotated(kept(words), bits))
            weights = [kept(T.reinterpret("int8x16", words))]
            if self.windows == 2:
                below = rotated(words, 8)
                weights.append(kept(T.reinterpret("int8x16", below)))
            fields = words_of(self.fields, channel * count, count)
            turns = -(-spec.out_width // self.pixels)
            with T.serial(unseen_count(turns)) as number:
                # The last ones may be done again.
                x = kept(T.min(number * self.pixels, size_of(spec.out_width) - self.pixels))
                place = kept(channel * self.pitch + x * (spec.strides[1] * FOUR))
                pixel = (image * spec.out_height + y) * spec.out_width + x
                self._outputs(weights, fields, place, y, pixel * spec.out_channels + channel)

    def _outputs(
        self, weights: Sequence[Vector], fields: Sequence[Index], place: Index, y: Index, to: Index
    ) -> None:
        """Write neighbours in a row, of each window that is in the image."""
        spec, last = self.spec, self.pixels - 1
        sums: dict[int, list[Index]] = {}
        halves: list[list[Vector]] = [[] for _ in weights]
        for odd in range(2):
            totals = [T.alloc_buffer((FOUR,), "int32", scope="global") for _ in weights]
            for lane in (0, 2, 1, 3):  # two by an instruction
                pixel = min(2 * lane + odd, last)
                if pixel not in sums:
                    values = vector_of(self.columns, place + pixel * spec.strides[1] * FOUR)
                    sums[pixel] = [kept(dot(values, each, T.int32(0))) for each in weights]
                for total, value in zip(totals, sums[pixel], strict=True):
                    T.buffer_store(total, value, [lane])
            for half, total in zip(halves, totals, strict=True):
                half.append(self._scaled(kept(total[T.ramp(0, 1, FOUR)]), fields))
        offsets = self.offsets
        for row, (even, odds) in enumerate(halves):
            value = self._narrowed(even, odds)
            start = to + row * spec.out_width * spec.out_channels
            if spec.out_height % (row + 1) == 0:
                scatter(self.output, start, offsets, value, last * spec.out_channels)
                continue
            with T.If(y + row < spec.out_height), T.Then():
                scatter(self.output, start, offsets, value, last * spec.out_channels)

    def _scaled(self, total: Vector, fields: Sequence[Index]) -> Vector:
        """Return outputs of a channel before their last shift."""
        epilogue, form = self.epilogue, self.epilogue.form
        assert form is not None
        if epilogue.bias is not None:
            total = kept(total + T.broadcast(fields[-1], FOUR))
        common, row = epilogue.multiplier, epilogue.addend_row
        multiplier = T.broadcast(fields[0] if common is None else T.int32(common), FOUR)
        doubles = len(form.addend) == 1 and int(form.left.min()) > 0
        if form.left.size > 1:
            by = T.broadcast(fields[epilogue.left_row] - int(doubles), FOUR)
            raised = lifted(total, by)
        else:
            raised = T.shift_left(total, splat("int32", int(form.left[0]) - doubles, FOUR))
        if doubles:
            return upper_products_and(raised, multiplier, fields[row])
        addends = T.broadcast(fields[row], FOUR)
        if len(form.addend) > 1:
            is_negative = total < splat("int32", 0, FOUR)
            addends = T.Select(is_negative, T.broadcast(fields[row + 1], FOUR), addends)
        return kept(upper_products(raised, multiplier) + addends)

    def _narrowed(self, even: Vector, odd: Vector) -> Vector:
        """Return int16x8 whose lower bytes are outputs."""
        epilogue = self.epilogue
        assert epilogue.form is not None
        value = narrowed_by(even, odd, epilogue.form.right)
        if epilogue.output.low > -128:
            value = T.max(value, splat("int8", epilogue.output.low, SIZE))
        if epilogue.output.high < 127:
            value = T.min(value, splat("int8", epilogue.output.high, SIZE))
        return T.reinterpret("int16x8", kept(value))


def _pitch(spec: ConvSpec) -> int:
    """Return the bytes between the columns of two channels."""
    _, left, _, right = spec.padding
    return (spec.in_width + max(left, right)) * FOUR


def _pixels(spec: ConvSpec) -> int:
    """Return how many neighbours are computed at a time: of the fewest instructions."""
    most = min(EIGHT, spec.out_width)
    return min(
        range(1, most + 1), key=lambda n: (-(-spec.out_width // n) * (_FIXED + FOUR * n), -n)
    )


def _offsets(between: int, lanes: Sequence[int]) -> Vector:
    """Return where lanes go, which is computed: layers of all sizes have one function."""
    numbers = T.Shuffle([T.int16(lane) for lane in lanes], list(range(EIGHT)))
    return kept(numbers * T.broadcast(T.Cast("int16", size_of(between)), EIGHT))
