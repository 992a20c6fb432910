"""Copies the data of an output pixel with its padding, so that one loop reads it."""

from collections.abc import Callable
from functools import partial

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.vectors import Index, kept

Copy = Callable[[Index, Index, int], None]
"""Writes the copy of values, given their offsets in the data and the window, and their number."""

Fill = Callable[[Index, int], None]
"""Writes padding, given its offset in the window and the number of values."""


def is_pixelwise(spec: ConvSpec) -> bool:
    """Tell whether output pixels read the data's pixels one by one, in order."""
    window = spec.kernel_height, spec.kernel_width, *spec.strides
    return window == (1, 1, 1, 1) and not any(spec.padding)


def gather(spec: ConvSpec, pixel: Index, copy: Copy, fill: Fill) -> None:
    """Write the copying of a pixel's data, in the order of the kernel's weights.

    Args:
        spec: the convolution.
        pixel: its number among all output pixels.
        copy: writes a copy.
        fill: writes padding.
    """
    channels = spec.in_channels
    if is_pixelwise(spec):
        copy(pixel * channels, 0, channels)
        return
    y, x, image = _corner(spec, pixel)
    window = spec.kernel_height * spec.kernel_width * channels
    if spec.in_height == spec.in_width == 1 and window == channels:
        copy(image * channels, 0, channels)
        return
    down, across = spec.dilation

    def start(row: Index, column: Index) -> Index:
        return ((image * spec.in_height + row) * spec.in_width + column) * channels

    def taps(n: Index) -> None:
        row, to = kept(y + n * down), n * spec.kernel_width * channels
        copied = partial(_taps, spec, x, kept(start(row, x)), to, copy, fill)
        if not any(spec.padding):
            copied()
            return
        with T.If(T.And(row >= 0, row < spec.in_height)):
            with T.Then():
                copied()
            with T.Else():
                fill(to, spec.kernel_width * channels)

    def runs() -> None:
        with T.serial(spec.kernel_height) as n:
            count = spec.kernel_width * channels
            copy(start(y + n * down, x), n * count, count)

    def each_row() -> None:
        with T.serial(spec.kernel_height) as n:
            taps(n)

    if across != 1:
        each_row()
    elif not any(spec.padding):
        runs()
    else:
        last = spec.in_height - spec.kernel_height * down + down - 1
        is_inside = T.And(y >= 0, y <= last)
        is_inside = T.And(is_inside, T.And(x >= 0, x <= spec.in_width - spec.kernel_width))
        with T.If(is_inside):
            with T.Then():
                runs()
            with T.Else():
                each_row()


def _corner(spec: ConvSpec, pixel: Index) -> tuple[Index, Index, Index]:
    """Return the row and the column of the first value that a pixel reads, and its image."""
    area = spec.out_height * spec.out_width
    image, within = (0, pixel) if spec.batch == 1 else (kept(pixel // area), kept(pixel % area))
    top, left, *_ = spec.padding
    y = kept(within // spec.out_width * spec.strides[0] - top)
    return y, kept(within % spec.out_width * spec.strides[1] - left), image


def _taps(spec: ConvSpec, x: Index, start: Index, to: Index, copy: Copy, fill: Fill) -> None:
    """Write the copying of a window row that is in the image, tap by tap."""
    channels, across = spec.in_channels, spec.dilation[1]
    with T.serial(spec.kernel_width) as n:
        column, place = x + n * across, to + n * channels
        if not any(spec.padding):
            copy(start + n * across * channels, place, channels)
            return
        with T.If(T.And(column >= 0, column < spec.in_width)):
            with T.Then():
                copy(start + n * across * channels, place, channels)
            with T.Else():
                fill(place, channels)
