"""The output pixels of a tile, and where they lie in the tensor that is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec, Encoding
from legalize.kernels.conv2d.x86.sizes import Sizes, parts
from legalize.kernels.ir.places import address, rolled
from legalize.kernels.ir.rows import BYTES, ramp
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.vectors import Buffer, Index, Vector, kept, splat, spread
from legalize.kernels.kernel import Slice
from qnn_ops.quantized.dynamic_quantization import FIELDS, POINT_FIELD, SCALE_FIELD


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


def encodings_of(pixels: Pixels, fields: Buffer | None, encoding: Encoding | None) -> list[Vector]:
    """Return each row's scale and zero point from ``fields``, if outputs are float32."""
    if fields is None or encoding is None:
        return [None] * len(pixels.numbers)

    def row(start: Index) -> Vector:
        scale = kept(fields[start + SCALE_FIELD])
        if encoding.offset is None:
            return scale, None
        point = T.Cast("int32", fields[start + POINT_FIELD])
        return scale, kept(point + T.int32(encoding.offset))

    if encoding.shape == (FIELDS,):
        return [row(0)] * len(pixels.numbers)
    return [row(start) for start in pixels.times(FIELDS)]


@dataclass(frozen=True)
class Target:
    """The places of outputs in the tensor that is written, counted in elements.

    Attributes:
        spec: the convolution.
        sizes: its sizes.
        is_any: whether the code also serves outputs with another border, or none.
        numbers: distances of neighbouring pixels, rows and images; the offset of the first output;
            the lengths of the border between two rows, after an image and before one; and the
            number of pairs of rows with a border between them. They are constants of the code, or
            read from a table.
    """

    spec: ConvSpec
    sizes: Sizes
    is_any: bool
    numbers: Sequence[Index]

    @classmethod
    def known(cls, spec: ConvSpec, sizes: Sizes, *, is_any: bool) -> Target:
        """Return the target of a convolution, with its numbers."""
        pixel, first = spec.target.whole, spec.target.first
        border = spec.fusion.border
        if border is None:
            row = spec.out_width * pixel
            numbers = pixel, row, spec.out_height * row, first, 0, 0, 0, 0
            return cls(spec, sizes, is_any, numbers)
        top, left, bottom, right = border.widths
        _, height, width, _ = spec.target_shape
        row = width * pixel
        first, after = top * row + left * pixel, right * pixel + bottom * row
        between, pairs = (left + right) * pixel, spec.out_height - 1
        numbers = pixel, row, height * row, first, between, after, first, pairs
        return cls(spec, sizes, is_any, numbers)

    def read(self, table: Table, sizes: Sizes) -> Target:
        """Return the target with numbers from a table."""
        numbers = [kept(table[i]) for i in range(len(self.numbers))]
        return replace(self, numbers=numbers, sizes=sizes)

    def origin(self, pixel: Index) -> Index:
        """Return the offset of a pixel's outputs."""
        size, row, image, first, *_ = self.numbers
        spec = self.spec
        if spec.fusion.border is None:
            return pixel * size + first
        pixel = T.Cast("int32", pixel)
        sizes = self.sizes
        y, x = parts(pixel, sizes.width, sizes.by_width)
        place = x * size + first
        if spec.batch == 1:
            return y * row + place
        number, y = parts(y, sizes.height, sizes.by_height)
        return number * image + y * row + place

    def at(self, image: Index, y: Index, x: Index) -> Index:
        """Return the offset of the outputs of a pixel of an image."""
        size, row, whole, first, *_ = self.numbers
        return image * whole + y * row + x * size + first

    def beside(self, origin: Index, down: int, across: int) -> Index:
        """Return the offset of a pixel from the offset of another pixel of its image."""
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
        if self.spec.fusion.border is None and not self.is_any:
            return
        size, row, image, first, between, after, before, pairs = self.numbers
        width = gcd(self.spec.out_channels, BYTES // 2 if self.is_any else BYTES)
        value = self.sizes.border
        if not isinstance(value, int):
            value = kept(spread(T.Cast(target.dtype, value), width))
        value = splat(target.dtype, value, width)

        def fill(start: Index, length: Index) -> None:
            with T.serial(T.truncdiv(length, T.int32(width))) as i:
                T.buffer_store(target, value, [ramp(start + i * width, width)])

        line = self.sizes.width * size
        with T.serial(self.spec.batch) as number:
            start = kept(number * image)
            fill(start, before)
            with T.serial(rolled(pairs)) as y:
                fill(kept(start + first + y * row + line), between)
            fill(start + first + (self.sizes.height - 1) * row + line, after)


def with_any_target(spec: ConvSpec) -> ConvSpec:
    """Return the representative of all convolutions with the same code and other targets."""
    fusion = spec.fusion
    border = None if fusion.border is None else replace(fusion.border, widths=(1, 1, 1, 1))
    part = None if fusion.part is None else Slice(spec.out_channels, 0)
    return replace(spec, fusion=replace(fusion, border=border, part=part))
