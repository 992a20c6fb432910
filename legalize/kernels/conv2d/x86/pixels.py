"""The output pixels of a tile, and where they lie in the tensor that is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.places import address, rolled
from legalize.kernels.ir.rows import BYTES, ramp
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.vectors import Buffer, Index, kept, splat
from legalize.kernels.kernel import Slice


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


@dataclass(frozen=True)
class Target:
    """Where outputs lie in the tensor that is written, in elements.

    Attributes:
        spec: the convolution.
        numbers: distances of neighbouring pixels, rows and images; the offset of the first output,
            before which the border lies, if there is one; the lengths of the border between two
            rows and after an image. They are constants of the code, or read from a table.
    """

    spec: ConvSpec
    numbers: Sequence[Index]

    @classmethod
    def known(cls, spec: ConvSpec) -> Target:
        """Return the target of a convolution, with its numbers."""
        pixel, first = spec.target.whole, spec.target.first
        border = spec.fusion.border
        if border is None:
            row = spec.out_width * pixel
            return cls(spec, (pixel, row, spec.out_height * row, first, 0, 0))
        top, left, bottom, right = border.widths
        _, height, width, _ = spec.target_shape
        row = width * pixel
        first, after = top * row + left * pixel, right * pixel + bottom * row
        return cls(spec, (pixel, row, height * row, first, (left + right) * pixel, after))

    def read(self, table: Table) -> Target:
        """Return the target whose numbers a table has."""
        return replace(self, numbers=[kept(table[i]) for i in range(len(self.numbers))])

    @property
    def alike(self) -> ConvSpec:
        """A convolution with the same code and another target."""
        fusion = self.spec.fusion
        border = None if fusion.border is None else replace(fusion.border, widths=(1, 1, 1, 1))
        part = None if fusion.part is None else Slice(self.spec.out_channels, 0)
        return replace(self.spec, fusion=replace(fusion, border=border, part=part))

    def origin(self, pixel: Index) -> Index:
        """Return the offset of a pixel's outputs."""
        size, row, image, first, *_ = self.numbers
        spec = self.spec
        if spec.fusion.border is None:
            return pixel * size + first
        pixel = T.Cast("int32", pixel)
        y, x = T.truncdiv(pixel, spec.out_width), T.truncmod(pixel, spec.out_width)
        place = x * size + first
        if spec.batch == 1:
            return y * row + place
        number, y = T.truncdiv(y, spec.out_height), T.truncmod(y, spec.out_height)
        return number * image + y * row + place

    def beside(self, origin: Index, down: int, across: int) -> Index:
        """Return the offset of a pixel by that of another one of its image."""
        size, row, *_ = self.numbers
        return origin + down * row + across * size

    def origins(self, pixels: Pixels) -> list[Index]:
        """Return the offsets of the outputs of a tile's pixels."""
        if self.spec.fusion.border is None:
            size, _, _, first, *_ = self.numbers
            return [start + first for start in pixels.times(size)]
        return [self.origin(pixel) for pixel in pixels.numbers]

    def fill_border(self, target: Buffer) -> None:
        """Write the loops that fill the border, if there is one, of the tensor as one row."""
        border = self.spec.fusion.border
        if border is None:
            return
        size, row, image, first, between, after = self.numbers
        width = gcd(self.spec.out_channels, BYTES)
        value = splat(target.dtype, border.value, width)

        def fill(start: Index, length: Index) -> None:
            with T.serial(T.truncdiv(length, T.int32(width))) as i:
                T.buffer_store(target, value, [ramp(start + i * width, width)])

        line = self.spec.out_width * size
        with T.serial(self.spec.batch) as number:
            start = kept(number * image)
            fill(start, first)
            with T.serial(rolled(self.spec.out_height - 1)) as y:
                fill(kept(start + first + y * row + line), between)
            fill(start + first + (self.spec.out_height - 1) * row + line, after)
