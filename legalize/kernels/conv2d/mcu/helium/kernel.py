"""Convolutions and dense layers with Helium: sums of sixteen products at a time.

The data of a few pixels is gathered first, with its padding, unless it already lies in the needed
order. If the windows of neighbours in a row overlap, each vector is read once. Sums of four
channels are rescaled together. The code does not depend on sizes, so layers of many sizes share
one function.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.helium.epilogue import Fields
from legalize.kernels.conv2d.mcu.kernel import arguments
from legalize.kernels.conv2d.mcu.window import is_pixelwise
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import Array, Index, Vector, kept
from legalize.kernels.isa.helium import FOUR, SIZE, UNSEEN_CODE, unseen_count
from legalize.kernels.isa.helium_copies import (
    COPIES_CODE,
    copy_columns,
    copy_rows,
    fill,
    store_some,
)
from legalize.kernels.isa.helium_sums import (
    COLUMNS,
    FEW,
    MANY,
    ONE,
    ONE_ROWS,
    PIXELS,
    SUMS_CODE,
    TAPS,
    add_up,
)
from legalize.kernels.isa.helium_tiles import MOST_RIGHT, Outputs, compute_tile, tile_of
from legalize.kernels.isa.mcu import WORDS_CODE, importing, number
from legalize.written import new_function

# The order in which four channels are read, if two are computed at a time.
_ORDER = [0, 2, 1, 3]

_FEWER = 20  # a row has this many pixels for each pixel that may be computed twice


def pixels_of(spec: ConvSpec) -> int:
    """Return how many pixels are computed at a time."""
    return PIXELS if spec.out_pixels >= PIXELS else 1


def span_of(spec: ConvSpec) -> ConvSpec | None:
    """Return a convolution whose pixels read all data of a tile's neighbours in a row.

    For such pixels, vectors of whole taps are read once. None if a tile has no such pixels.
    """
    more = PIXELS - 1
    top, left, bottom, right = spec.padding
    if spec.kernel_width != TAPS or spec.strides[1] != 1 or spec.dilation[1] != 1:
        return None
    if spec.in_channels % SIZE or spec.out_width < PIXELS:
        return None
    padding = top, left, bottom, right + more
    return replace(spec, kernel_width=TAPS + more, padding=padding)


def depth_of(spec: ConvSpec) -> int:
    """Return the distance between gathered pixels, whose last vector is filled with zeros."""
    depth = spec.kernel_height * spec.kernel_width * spec.in_channels
    filled = -(-depth // SIZE) * SIZE
    return depth if is_pixelwise(spec) or filled > SIZE * max(FEW) else filled


def loop_of(spec: ConvSpec) -> str:
    """Return the name of the function that adds products."""
    if span_of(spec) is not None:
        return COLUMNS
    depth = depth_of(spec)
    vectors, rest = divmod(depth, SIZE)
    if pixels_of(spec) == 1:
        fits = [name for n, name in ONE.items() if rest == 0 and vectors % n == 0]
        return fits[0] if fits else ONE_ROWS
    if depth <= SIZE:
        return FEW[1]
    return FEW.get(vectors, MANY) if rest == 0 else MANY


def packed_rows(spec: ConvSpec, rows: Array) -> Array:
    """Return int8 weights in the order in which a kernel reads them.

    Args:
        spec: the convolution.
        rows: the weights of each output channel.
    """
    loop = loop_of(spec)
    has_rows = loop in (MANY, ONE_ROWS)
    filled = 0 if has_rows else -rows.shape[1] % SIZE
    rows = np.pad(rows, ((0, -len(rows) % FOUR), (0, filled)))
    if pixels_of(spec) > 1:
        rows = rows.reshape(-1, FOUR, rows.shape[1])[:, _ORDER].reshape(len(rows), -1)
    together = FOUR if pixels_of(spec) == 1 else 2
    if loop == COLUMNS:
        shape = -1, together, spec.kernel_height, TAPS, spec.in_channels // SIZE, SIZE
        rows = rows.reshape(shape).transpose(0, 2, 4, 3, 1, 5)
    elif not has_rows:
        rows = rows.reshape(-1, together, rows.shape[1] // SIZE, SIZE).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(rows).reshape(-1)


def conv2d(spec: ConvSpec, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that convolves.

    Args:
        spec: the convolution, of int8.
        epilogue: turns the sums into outputs; its form is not wide.

    Returns:
        A function of the data; weights from ``packed_rows``, the epilogue's constants;
        and the output.
    """
    with new_function("conv2d") as builder:
        writer = _Writer(spec, epilogue)
        sums = SUMS_CODE if writer.tile is None else writer.tile[1]
        with importing(UNSEEN_CODE, WORDS_CODE, COPIES_CODE, sums):
            writer.write()
    return builder.get()


class _Writer:
    def __init__(self, spec: ConvSpec, epilogue: Epilogue) -> None:
        self.spec, self.epilogue = spec, epilogue
        self.pixels, self.depth = pixels_of(spec), depth_of(spec)
        self.loop, self.span = loop_of(spec), span_of(spec)
        self.is_read = is_pixelwise(spec)
        # Rows whose size is no multiple of three repeat some pixels.
        twice = -(-spec.out_width // self.pixels) * self.pixels - spec.out_width
        self.has_rows = self.span is not None or twice * _FEWER <= spec.out_width
        values = spec.kernel_height * spec.kernel_width * spec.in_channels
        channels = -(-spec.out_channels // FOUR) * FOUR
        # The bytes of a channel's weights.
        self.row = values if self.loop in (MANY, ONE_ROWS) else -(-values // SIZE) * SIZE
        self.data, self.weights, self.fields, self.output = arguments(
            spec, channels * self.row, epilogue.constants(FOUR)
        )
        outputs = _outputs_of(spec, epilogue)
        steps = next((n for n, name in FEW.items() if name == self.loop), None)
        self.tile = None if steps is None or outputs is None else tile_of(steps, outputs)
        if self.span is not None:
            size = spec.kernel_height * self.span.kernel_width * spec.in_channels
        else:
            size = self.pixels * self.depth
        self.is_filled = self.span is None and not self.is_read and values < self.depth
        if not self.is_read:
            self.values = T.alloc_buffer((size,), "int8")

    def write(self) -> None:
        spec, pixels = self.spec, self.pixels
        if self.is_filled:
            # Its values do not matter, but they must be defined.
            fill(self.values[0], 0, number(pixels * self.depth))
        # The last tile, of all pixels or of a row, may repeat some pixels.
        if self.is_read:
            with T.serial(unseen_count(-(-spec.out_pixels // pixels))) as turn:
                first = kept(T.min(turn * pixels, number(spec.out_pixels) - pixels))
                self._channels(first)
            return
        if not self.has_rows:
            with T.serial(unseen_count(-(-spec.out_pixels // pixels))) as turn:
                first = kept(T.min(turn * pixels, number(spec.out_pixels) - pixels))
                with T.serial(unseen_count(pixels)) as i:
                    self._gather_pixel(kept(first + i), i * number(self.depth))
                self._channels(first)
            return
        with (
            T.serial(unseen_count(spec.batch)) as image,
            T.serial(unseen_count(spec.out_height)) as row,
            T.serial(unseen_count(-(-spec.out_width // pixels))) as turn,
        ):
            width = number(spec.out_width)
            column = kept(T.min(turn * pixels, width - pixels))
            self._gather_row(image, row, column)
            self._channels(kept((image * number(spec.out_height) + row) * width + column))

    def _gather_pixel(self, pixel: Index, to: Index) -> None:
        spec, (top, left, *_) = self.spec, self.spec.padding
        width, image = number(spec.out_width), T.int32(0)
        row, column = kept(T.truncdiv(pixel, width)), kept(T.truncmod(pixel, width))
        if spec.batch > 1:
            height = number(spec.out_height)
            image, row = T.truncdiv(row, height), T.truncmod(row, height)
        y, x = kept(row * spec.strides[0] - top), kept(column * spec.strides[1] - left)
        self._gather(spec, kept(image), y, x, to)

    def _gather_row(self, image: Index, row: Index, column: Index) -> None:
        """Copy the data that neighbours in a row read."""
        spec, pixels = self.spec, self.pixels
        top, left, *_ = spec.padding
        down, across = spec.strides
        y, x = kept(row * down - top), kept(column * across - left)
        if self.span is not None:
            self._gather(self.span, image, y, x, T.int32(0))
            return

        def one_by_one() -> None:
            with T.serial(unseen_count(pixels)) as i:
                self._gather(spec, image, y, kept(x + i * across), i * number(self.depth))

        if spec.dilation != (1, 1):
            one_by_one()
            return
        wide = spec.kernel_width + (pixels - 1) * across
        in_height, in_width = number(spec.in_height), number(spec.in_width)
        is_inside = T.And(y >= 0, y + spec.kernel_height <= in_height)
        is_inside = T.And(is_inside, T.And(x >= 0, x + wide <= in_width))
        with T.If(is_inside):
            with T.Then():
                channels, count = spec.in_channels, spec.kernel_width * spec.in_channels
                source = ((image * in_height + y) * in_width + x) * number(channels)
                pitch = spec.in_width * channels
                gaps = self.depth - spec.kernel_height * count, channels * across
                gaps = gaps[0], gaps[1] - spec.kernel_height * pitch
                source, rows = self.data[source], spec.kernel_height
                copy_rows(self.values[0], source, count, rows, (count, pitch), pixels, gaps)
            with T.Else():
                one_by_one()

    def _channels(self, first: Index) -> None:
        groups = -(-self.spec.out_channels // FOUR)
        if self.tile is not None:
            depth, channels = number(self.depth), number(self.spec.out_channels)
            data = self.data[first * depth] if self.is_read else self.values[0]
            output, constants = self.output[first * channels], (self.weights[0], self.fields[0])
            name = self.tile[0]
            compute_tile(name, output, data, depth, *constants, number(groups), channels)
            return
        with T.serial(unseen_count(groups)) as group:
            self._four(first, group)

    def _gather(self, spec: ConvSpec, image: Index, y: Index, x: Index, to: Index) -> None:
        """Copy a window of the padded data, whose first row and column are given."""
        channels, height, width = spec.in_channels, spec.kernel_height, spec.kernel_width
        # The part of the window inside the image, if its taps are adjacent.
        above, rows = _inside(y, height, spec.in_height, spec.padding[::2])
        first, columns = _inside(x, width, spec.in_width, spec.padding[1::2])
        is_dense = spec.dilation == (1, 1)
        if any(spec.padding):
            is_cut = T.Or(rows < height, columns < width) if is_dense else T.bool(True)
            with T.If(is_cut), T.Then():
                values = number(height * width * channels)
                fill(self.values[to], spec.input_zero_point, values)
        if not is_dense:
            self._copy_taps(spec, image, y, x, to)
            return
        is_there = T.And(rows > 0, columns > 0) if any(spec.padding) else T.bool(True)
        with T.If(is_there), T.Then():
            row = image * number(spec.in_height) + y + above
            source = (row * number(spec.in_width) + x + first) * number(channels)
            place = to + (above * width + first) * number(channels)
            # Columns of a single vector are consecutive already; that takes fewer iterations.
            if self.span is not None and channels > SIZE:
                # The columns of each vector are consecutive.
                place = self.values[to + above * number(width * channels) + first * SIZE]
                vectors = number(channels // SIZE)
                pitches = number(width * channels), number(spec.in_width * channels)
                copy_columns(place, self.data[source], columns, vectors, rows, pitches)
                return
            place, source = self.values[place], self.data[source]
            pitches = number(width * channels), number(spec.in_width * channels)
            copy_rows(place, source, kept(columns * number(channels)), kept(rows), pitches)

    def _copy_taps(self, spec: ConvSpec, image: Index, y: Index, x: Index, to: Index) -> None:
        """Copy the taps of a dilated window that are in the image."""
        channels, (down, across) = number(spec.in_channels), spec.dilation
        with T.serial(unseen_count(spec.kernel_height)) as n:
            row = kept(y + n * down)
            with (
                T.If(T.And(row >= 0, row < spec.in_height)),
                T.Then(),
                T.serial(unseen_count(spec.kernel_width)) as m,
            ):
                column = kept(x + m * across)
                with T.If(T.And(column >= 0, column < spec.in_width)), T.Then():
                    pixel = (image * spec.in_height + row) * spec.in_width + column
                    place = self.values[to + (n * spec.kernel_width + m) * channels]
                    copy_rows(place, self.data[pixel * channels], channels, 1, (0, 0))

    def _four(self, first: Index, group: Index) -> None:
        """Write the outputs of four channels."""
        spec, totals = self.spec, T.alloc_buffer((self.pixels * FOUR,), "int32", scope="global")
        depth, row = number(self.depth), number(self.row)
        data = self.data[first * depth] if self.is_read else self.values[0]
        turns = spec.kernel_height * spec.in_channels // SIZE if self.span else self.row // SIZE
        each = next((n for n, name in ONE.items() if name == self.loop), 1)
        turns = number(max(turns // each, 1))
        add_up(self.loop, totals, data, self.weights[group * (row * FOUR)], depth, turns)
        fields = Fields(self.epilogue, self.fields, group)
        for i in range(self.pixels):
            value = fields.rescaled(kept(totals[T.ramp(i * FOUR, 1, FOUR)]))
            self._store(value, (first + i) * number(spec.out_channels), group * FOUR)

    def _store(self, value: Vector, pixel: Index, channel: Index) -> None:
        channels, dtype = self.spec.out_channels, self.spec.output.dtype
        if channels % FOUR:
            store_some(self.output, pixel + channel, value, number(channels) - channel)
            return
        T.buffer_store(self.output, T.Cast(f"{dtype}x4", value), [T.ramp(pixel + channel, 1, FOUR)])


def _inside(start: Index, size: int, most: int, padding: Sequence[int]) -> tuple[Index, Index]:
    """Return the first tap of a row or a column that is in the image, and the number of such taps.

    Args:
        start: the first tap's row or column in the image.
        size: the number of taps.
        most: the image's size.
        padding: the image's padding.
    """
    if not any(padding):
        return T.int32(0), T.int32(size)
    first = kept(T.max(-start, 0))
    return first, kept(T.min(size, number(most) - start) - first)


def _outputs_of(spec: ConvSpec, epilogue: Epilogue) -> Outputs | None:
    """Describe the outputs, if a function of whole tiles makes them; otherwise return None."""
    form, output = epilogue.form, epilogue.output
    if form is None or (str(output.dtype), output.low, output.high) != ("int8", -128, 127):
        return None
    has_signs = len(form.addend) > 1
    if epilogue.multiplier is not None or form.left.size > 1 or spec.out_channels % FOUR:
        return None
    if has_signs == (epilogue.bias is None) or not 0 < form.right < MOST_RIGHT:
        return None
    return Outputs(int(form.left[0]), form.right, has_signs)
