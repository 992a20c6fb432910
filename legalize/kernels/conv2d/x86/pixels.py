"""The output pixels of a tile, and where they lie in the tensor that is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec, Encoding
from legalize.kernels.conv2d.x86.sizes import Sizes, parts
from legalize.kernels.ir.places import address, rolled
from legalize.kernels.ir.rows import BYTES, ramp
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.vectors import Buffer, Index, Vector, kept, splat, spread, unsigned_min
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
        down: whether pixels are numbered down the columns of an image.
        numbers: distances of neighbouring pixels of a line, of lines (see ``Sizes``) and of images;
            the offset of the first output; the length of the border before an image; the offset of
            the border behind the first row, its length, the distance to the next one like it, and
            their number; offset and length of the border after an image. They are constants of the
            code, or read from a table.
    """

    spec: ConvSpec
    sizes: Sizes
    is_any: bool
    down: bool
    numbers: Sequence[Index]

    @classmethod
    def known(cls, spec: ConvSpec, sizes: Sizes, *, is_any: bool, down: bool) -> Target:
        """Return the target of a convolution, with its numbers."""
        border, first = spec.fusion.border, first_output(spec)
        _, left, bottom, right = (0,) * 4 if border is None else border.widths
        pixel, row, image = distances(spec)
        before = first - spec.target.first
        steps = (row, pixel) if down else (pixel, row)
        behind = before + spec.out_width * pixel
        rows = behind, (left + right) * pixel, row, spec.out_height - 1
        filled = before, *rows, behind + (spec.out_height - 1) * row, right * pixel + bottom * row
        # The function of the first channels fills the border of all.
        own = (0,) * len(filled) if spec.target.first else filled
        return cls(spec, sizes, is_any, down, (*steps, image, first, *own))

    def read(self, table: Table, sizes: Sizes) -> Target:
        """Return the target with numbers from a table."""
        numbers = [*table.numbers(len(self.numbers))]
        return replace(self, numbers=numbers, sizes=sizes)

    def origin(self, pixel: Index) -> Index:
        """Return the offset of a pixel's outputs."""
        size, row, image, first, *_ = self.numbers
        spec = self.spec
        pixel = T.Cast("int32", pixel)
        sizes = self.sizes
        y, x = parts(pixel, sizes.line, sizes.by_line)
        place = x * size + first
        if spec.batch == 1:
            return y * row + place
        number, y = parts(y, sizes.lines, sizes.by_lines)
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
        if self.is_linear:
            size, _, _, first, *_ = self.numbers
            return [start + first for start in pixels.times(size)]
        return [self.origin(pixel) for pixel in pixels.numbers]

    @property
    def is_linear(self) -> bool:
        """Whether the code knows that the outputs of consecutive pixels are neighbours."""
        return self.spec.fusion.border is None and not self.is_any and not self.down

    @property
    def fill_lanes(self) -> int:
        """The elements of a store that fills the border; 0 if the code fills none."""
        if self.spec.fusion.border is None and not self.is_any:
            return 0
        most = min(self.spec.target.whole, BYTES // 2 if self.is_any else BYTES)
        return 1 << (most.bit_length() - 1)

    def fill_border(self, target: Buffer) -> None:
        """Write the loops that fill the border, if there is one, of the tensor as one row."""
        width = self.fill_lanes
        if width == 0:
            return
        image, _, before, behind, between, row, pairs, last, after = self.numbers[2:]
        value = self.sizes.border
        if not isinstance(value, int):
            value = kept(spread(T.Cast(target.dtype, value), width))
        value = splat(target.dtype, value, width)

        def fill(start: Index, length: Index) -> None:
            end = kept(length - width)
            with T.serial(T.truncdiv(length + (width - 1), T.int32(width))) as i:
                # The address also keeps LLVM from unrolling.
                place = address(start + unsigned_min(i * width, end))
                T.buffer_store(target, value, [ramp(place, width)])

        with T.serial(self.spec.batch) as number:
            start = kept(number * image)
            fill(start, before)
            with T.serial(rolled(pairs)) as y:
                fill(kept(start + behind + y * row), between)
            fill(start + last, after)


def distances(spec: ConvSpec) -> tuple[int, int, int]:
    """Return the distances of neighbouring outputs of a row, of rows and of images."""
    _, height, width, _ = spec.target_shape
    pixel = spec.target.whole
    return pixel, width * pixel, height * width * pixel


def first_output(spec: ConvSpec) -> int:
    """Return the offset of the first output."""
    pixel, row, _ = distances(spec)
    border = spec.fusion.border
    top, left, *_ = (0, 0) if border is None else border.widths
    return top * row + left * pixel + spec.target.first


def with_any_target(spec: ConvSpec) -> ConvSpec:
    """Return the representative of all convolutions with the same code and other targets."""
    fusion = spec.fusion
    border = None if fusion.border is None else replace(fusion.border, widths=(1, 1, 1, 1))
    # The code that fills a border knows whether a pixel has room for its vectors.
    part = None if fusion.part is None else Slice(min(spec.target.whole, BYTES), 0)
    return replace(spec, fusion=replace(fusion, border=border, part=part))
