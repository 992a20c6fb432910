"""The output pixels of a tile, and their indices in an output that has a border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.places import address
from legalize.kernels.ir.vectors import Index


def target_pixel(spec: ConvSpec, pixel: Index) -> Index:
    """Return the number of an output pixel among all written pixels, border included."""
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


@dataclass(frozen=True)
class Pixels:
    """Pixels by their numbers.

    Attributes:
        numbers: each pixel's number.
        first: the number of the first one, if the pixels are consecutive.
    """

    numbers: Sequence[Index]
    first: Index | None = None

    @classmethod
    def following(cls, first: Index, count: int) -> Pixels:
        """Return neighbouring pixels."""
        start = address(first)
        return cls([start + i for i in range(count)], first)

    def times(self, size: int) -> list[Index]:
        """Return the offset of each pixel, if a pixel takes ``size``.

        Neighbours differ by constants, so they share one register for their address.
        """
        if self.first is None:
            return [number * size for number in self.numbers]
        start = address(self.first * size)
        return [start + i * size for i in range(len(self.numbers))]


def origins_of_outputs(spec: ConvSpec, pixels: Pixels, targets: Sequence[Index]) -> list[Index]:
    """Return the offset in the target of each pixel's outputs.

    Args:
        spec: the convolution.
        pixels: the pixels of a tile.
        targets: their numbers among the written pixels; empty to compute them.
    """
    if not targets and spec.fusion.border is None:
        starts = pixels.times(spec.target.whole)
    else:
        targets = targets or [target_pixel(spec, pixel) for pixel in pixels.numbers]
        starts = [target * spec.target.whole for target in targets]
    return [start + spec.target.first for start in starts]
