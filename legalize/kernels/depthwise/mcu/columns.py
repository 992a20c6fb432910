"""Depthwise convolutions with Helium, of windows of up to four by four, channel by channel.

A register holds four columns of a channel, each of four rows. An output depends on nothing more,
and one instruction adds its products. So rows are copied first, each once, value by value. The copy
makes a channel's columns consecutive. If four rows cover two windows, one load serves two outputs.
"""

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.kernel import arguments
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import Index, kept
from legalize.kernels.isa.helium import (
    EIGHT,
    FOUR,
    SIZE,
    UNSEEN_CODE,
    unseen_count,
    unseen_index,
)
from legalize.kernels.isa.helium_columns import (
    MOST_ACROSS,
    NUMBERS,
    SPREAD_CODE,
    Kind,
    channels_of,
    convolve,
    spread,
)
from legalize.kernels.isa.helium_copies import COPIES_CODE, fill
from legalize.kernels.isa.mcu import WORDS_CODE, importing, number
from legalize.written import new_function

_NARROWEST, _SMALL = 6, 36  # outputs in a row, and in an image that may have fewer


def serves(spec: ConvSpec) -> bool:
    """Tell whether windows fit registers, channels fill a vector, and output rows are long.

    For short rows, columns take more memory than their speed is worth, except in small images.
    """
    fits = spec.kernel_height <= FOUR and spec.kernel_width <= FOUR
    fits = fits and spec.strides[1] <= MOST_ACROSS
    # Offsets of eight channels, and of outputs in two rows, must fit 16 bits.
    farthest = max((EIGHT - 1) * _pitch(spec), (spec.out_width + FOUR) * spec.out_channels)
    fits = fits and farthest < 1 << 16
    fits = fits and spec.out_channels >= EIGHT
    return fits and (spec.out_width >= _NARROWEST or spec.out_height * spec.out_width < _SMALL)


def depthwise_conv2d(spec: ConvSpec, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that convolves each channel by itself.

    Args:
        spec: the convolution, of int8 and without dilation, which ``serves`` takes.
        epilogue: turns the sums into outputs; its form is not wide.

    Returns:
        A function of the data; int8 weights [channels, taps]; the epilogue's constants; and the
        output.
    """
    with new_function("depthwise_columns") as builder:
        writer = _Writer(spec, epilogue)
        with importing(UNSEEN_CODE, WORDS_CODE, COPIES_CODE, SPREAD_CODE, writer.code):
            writer.write()
    return builder.get()


class _Writer:
    def __init__(self, spec: ConvSpec, epilogue: Epilogue) -> None:
        self.spec, self.epilogue = spec, epilogue
        self.kind = kind_of(spec, epilogue)
        self.name, self.code = channels_of(self.kind)
        self.data, self.weights, self.fields, self.output = arguments(
            spec, spec.out_channels * self.kind.taps, epilogue.constants()
        )
        self.rows = spec.kernel_height + (self.kind.windows - 1) * spec.strides[0]
        # A channel's right padding is the left padding of the next channel. A row's index in a
        # register is its number modulo four.
        self.pitch, self.before = _pitch(spec), spec.padding[1] * FOUR
        form = epilogue.form
        assert form is not None
        self.left = int(form.left[0]) - self.kind.doubles
        # Values read past the last window's columns, or for further pixels, are never used.
        self.width = max(spec.out_width, FOUR)
        more = (self.width - spec.out_width) * spec.strides[1] * FOUR
        self.size = self.before + spec.out_channels * self.pitch + SIZE + more
        self.columns = T.alloc_buffer((self.size,), "int8")
        self.numbers = T.alloc_buffer((len(NUMBERS),), "int32")

    def write(self) -> None:
        self._set_sizes()
        if self.spec.batch == 1:
            self._convolve(T.int32(0))
            return
        with T.serial(unseen_count(self.spec.batch)) as image:
            self._convolve(image)

    def _convolve(self, image: Index) -> None:
        """Write an image's outputs."""
        spec, windows = self.spec, self.kind.windows
        step = windows * spec.strides[0]
        height, width, channels = map(number, spec.out_shape[1:])
        fill(self.columns[0], spec.input_zero_point, number(self.size))
        with T.serial(unseen_count(-(-spec.out_height // windows))) as turn:
            # One of the last two rows may be computed twice.
            y = kept(T.min(turn * windows, height - windows))
            first = kept(y * spec.strides[0])
            with T.serial(unseen_count(self.rows)) as n:
                # Otherwise LLVM writes out the copy for each iteration.
                is_new = T.Or(unseen_index(turn) == 0, unseen_index(n) >= self.rows - step)
                with T.If(is_new), T.Then():
                    self._copy(image, kept(first + n))
            self._set_places(kept(first % FOUR))
            self._set("channels", channels)
            to = ((image * height + y) * width) * channels
            starts = self.output[to], self.columns[0], self.weights[0], self.fields[0]
            count = windows * spec.out_width * spec.out_channels
            convolve(self.name, *starts, self.numbers, count)

    def _set(self, name: str, value: Index) -> None:
        T.buffer_store(self.numbers, value, [NUMBERS.index(name)])

    def _set_sizes(self) -> None:
        """Write the numbers that are the same for all rows."""
        spec = self.spec
        width, channels = number(self.width), number(spec.out_channels)
        column = spec.strides[1] * FOUR
        turns, rest = divmod(self.width, FOUR)
        # If a row is not a multiple of four pixels, the second iteration repeats some pixels.
        counts = (1, turns) if rest else (turns, 0)
        for name, count in zip(("first", "more"), counts, strict=True):
            self._set(name, number(count + 1) - 1)
        twice = kept(number(turns + (rest > 0)) * FOUR - width)
        self._set("back", twice * column)
        self._set("up", twice * channels)
        self._set("next", number(self.pitch) - width * column)
        self._set("on", 1 - width * channels)
        self._set("step", channels * FOUR)
        if not self.kind.has_lefts:
            self._set("left", number(self.left + 1) - 1)
        self._set("pixels", number((1 << FOUR * min(spec.out_width, FOUR)) - 1))
        # Two rows have offsets of 16 bits; one row has offsets of 32 bits.
        has_two = self.kind.windows == 2
        upper = T.shift_left(channels, T.int32(16))
        self._set("apart", T.bitwise_or(upper, channels) if has_two else channels)
        below = number(spec.out_width) * channels
        self._set("below", T.shift_left(below, T.int32(16)))
        if self.epilogue.multiplier is not None:
            self._set("multiplier", T.int32(self.epilogue.multiplier))

    def _set_places(self, slot: Index) -> None:
        """Write the offsets of a register's weights, if the window's first row is at ``slot``."""
        height, width = self.spec.kernel_height, self.spec.kernel_width
        taps = T.int32(sum(row * width << 8 * row for row in range(FOUR)))
        bits = kept(slot * 8)
        self._set("taps", T.call_llvm_pure_intrin("int32", "llvm.fshl.i32", taps, taps, bits))
        # The mask selects the window's rows of each column, and its columns.
        rows = T.int32(((1 << height) - 1) * 0x11111)
        rows = T.shift_right(T.shift_left(rows, slot), T.int32(FOUR))
        self._set("mask", T.bitwise_and(rows, T.int32((1 << FOUR * width) - 1)))

    def _copy(self, image: Index, row: Index) -> None:
        """Copy a row of the padded data, by its number."""
        spec = self.spec
        place = self.columns[row % FOUR + self.before]
        row = kept(row - spec.padding[0])
        height, width, channels = map(number, spec.in_shape[1:])
        source = self.data[(image * height + row) * width * channels]
        # Padding follows all columns.
        other = self.columns[number(self.size) - SIZE]
        spread(place, source, other, row, height, width, channels, number(self.pitch))


def kind_of(spec: ConvSpec, epilogue: Epilogue) -> Kind:
    """Return the kind of a convolution, which determines its code.

    Args:
        spec: the convolution.
        epilogue: turns the sums into outputs.
    """
    form = epilogue.form
    assert form is not None
    # Two adjacent windows that together cover at most four rows.
    has_two = spec.strides[0] == 1 and spec.kernel_height < FOUR and spec.out_height > 1
    return Kind(
        windows=2 if has_two else 1,
        across=spec.strides[1],
        taps=spec.kernel_height * spec.kernel_width,
        right=form.right,
        doubles=len(form.addend) == 1 and int(form.left.min()) > 0,
        has_multipliers=epilogue.multiplier is None,
        has_lefts=form.left.size > 1,
        has_signs=len(form.addend) > 1,
        has_bias=epilogue.bias is not None,
        low=epilogue.output.low,
        high=epilogue.output.high,
    )


def _pitch(spec: ConvSpec) -> int:
    """Return the bytes between the columns of two channels."""
    _, left, _, right = spec.padding
    return (spec.in_width + max(left, right)) * FOUR
