"""Outputs with pixels around them, so that whoever reads them finds its padding there."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.stage import fill
from legalize.kernels.ir.types import Buffer, Index


def fill_border(spec: ConvSpec, target: Buffer) -> None:
    """Write the loops that fill the border of an output, if it has one.

    Args:
        spec: the convolution.
        target: the tensor of ``spec.target_shape`` as one row.
    """
    if spec.fusion.border is None:
        return
    top, left, bottom, right = spec.fusion.border.widths
    value = spec.fusion.border.value
    _, height, width, channels = spec.target_shape
    row, inner = width * channels, spec.out_width * channels
    with T.serial(spec.batch) as n:
        first = n * height * row + top * row + left * channels
        fill(target, n * height * row, top * row + left * channels, value)
        if spec.out_height > 1:
            # What is right of one row and left of the next.
            with T.serial(spec.out_height - 1) as y:
                fill(target, first + y * row + inner, (right + left) * channels, value)
        last = first + (spec.out_height - 1) * row + inner
        fill(target, last, right * channels + bottom * row, value)


def target_pixel(spec: ConvSpec, pixel: Index) -> Index:
    """Return the number of an output pixel among those that are written, border included."""
    if spec.fusion.border is None:
        return pixel
    top, left, _, _ = spec.fusion.border.widths
    _, height, width, _ = spec.target_shape
    row, x = T.truncdiv(pixel, spec.out_width), T.truncmod(pixel, spec.out_width)
    if spec.batch == 1:
        return (row + top) * width + left + x
    image, y = T.truncdiv(row, spec.out_height), T.truncmod(row, spec.out_height)
    return (image * height + y + top) * width + left + x
