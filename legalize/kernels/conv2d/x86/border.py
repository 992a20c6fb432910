"""Places of pixels in an output that has a border."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.types import Index


def target_pixel(spec: ConvSpec, pixel: Index) -> Index:
    """Return the number of an output pixel among those that are written, border included."""
    if spec.fusion.border is None:
        return pixel
    pixel = T.Cast("int32", pixel)
    top, left, _, _ = spec.fusion.border.widths
    _, height, width, _ = spec.target_shape
    row, x = T.truncdiv(pixel, spec.out_width), T.truncmod(pixel, spec.out_width)
    if spec.batch == 1:
        return (row + top) * width + left + x
    image, y = T.truncdiv(row, spec.out_height), T.truncmod(row, spec.out_height)
    return (image * height + y + top) * width + left + x
