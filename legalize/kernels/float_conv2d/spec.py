"""The shape of a convolution of float32 with channels last."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from legalize.kernels.ir.sums import tile_size
from legalize.kernels.kernel import Slice
from qnn_ops.unquantized.float_conv2d import Parts


@dataclass(frozen=True)
class Span:
    """A range of taps that the same pixels of a tile read.

    Attributes:
        begin: the first tap.
        end: the first tap after them.
        pixels: the pixels' indices in the tile.
    """

    begin: Any
    end: Any
    pixels: tuple[int, ...]


@dataclass(frozen=True)
class Axis:
    """One axis of the image.

    Attributes:
        size: pixels of the data.
        count: pixels of the result.
        window: taps.
        stride: pixels of the data between windows.
        dilation: pixels of the data between taps.
        before: padding before the data.
    """

    size: int
    count: int
    window: int
    stride: int = 1
    dilation: int = 1
    before: int = 0

    @property
    def inner(self) -> tuple[int, int]:
        """The first window that reads no padding, and the first one behind these windows."""
        begin = min(-(-self.before // self.stride), self.count)
        room = self.size - 1 + self.before - (self.window - 1) * self.dilation
        return begin, min(max(room // self.stride + 1, begin), self.count)

    def tiles(self, begin: int, end: int, most: int) -> tuple[list[int], list[int], int]:
        """Cut pixels into tiles of at most ``most``; the last tile overlaps the one before.

        Returns:
            The first pixels of tiles that read no padding, those of other tiles, and the tile size.
        """
        size = tile_size(end - begin, most) if end > begin else 1
        starts = [min(start, end - size) for start in range(begin, end, size)]
        first, last = self.inner
        inner = [start for start in starts if first <= start <= last - size]
        return inner, [start for start in starts if start not in inner], size

    def spans(self, first: int, pixels: int) -> list[Span]:
        """Return the taps that meet the image, for pixels from the first one on."""
        found: list[Span] = []
        for tap in range(self.window):
            begin = first * self.stride + tap * self.dilation - self.before
            inside = tuple(
                pixel for pixel in range(pixels) if 0 <= begin + pixel * self.stride < self.size
            )
            if found and found[-1].pixels == inside:
                found[-1] = Span(found[-1].begin, tap + 1, inside)
            elif inside:
                found.append(Span(tap, tap + 1, inside))
        return found


@dataclass(frozen=True)
class FloatConv:
    """A convolution of float32.

    Attributes:
        batch: images.
        rows: the vertical axis.
        columns: the horizontal axis.
        channels: channels of the data.
        units: channels of the result.
        groups: groups of channels.
        has_bias: whether a number is added to each unit.
        has_addend: whether a tensor of the result's shape is added.
        low: lower bound of the result, if there is one.
        high: upper bound of the result, if there is one.
        parts: how ONNX Runtime cuts a sum; None in LiteRT's order.
        part: the channels of a larger tensor that the result fills; None if it is a tensor of its
            own.
    """

    batch: int
    rows: Axis
    columns: Axis
    channels: int
    units: int
    groups: int = 1
    has_bias: bool = False
    has_addend: bool = False
    low: float | None = None
    high: float | None = None
    parts: Parts | None = None
    part: Slice | None = None

    @property
    def pitch(self) -> int:
        """Channels of a pixel of the tensor that is written."""
        return self.units if self.part is None else self.part.whole

    @property
    def first(self) -> int:
        """The first channel that is written."""
        return 0 if self.part is None else self.part.first

    @property
    def is_fused(self) -> bool:
        """Whether a product and its sum are rounded once, together."""
        return self.parts is not None and not self.parts.has_runs

    @property
    def starts_with_bias(self) -> bool:
        """Whether a sum begins with the bias: this changes no order if the sum has one part."""
        if self.parts is None or not self.has_bias or self.depth <= self.parts.size:
            return False
        return self.parts.follow_bias

    @property
    def has_places(self) -> bool:
        """Whether a table holds the offsets of a sum's data."""
        is_long = not self.is_depthwise and self.depth > self.inputs
        return self.parts is not None and is_long and not self.has_blocks

    @property
    def has_blocks(self) -> bool:
        """Whether each part has all taps of some input channels."""
        taps = self.rows.window * self.columns.window
        return self.parts is not None and taps > 1 and self.parts.size == self.parts.block * taps

    @property
    def inputs(self) -> int:
        """Channels of the data that a unit reads."""
        return self.channels // self.groups

    @property
    def depth(self) -> int:
        """Products of a sum."""
        return self.rows.window * self.columns.window * self.inputs

    @property
    def products(self) -> int:
        """Products of the whole result."""
        return self.depth * self.pixels * self.units

    @property
    def pixels(self) -> int:
        """Pixels of the result."""
        return self.batch * self.rows.count * self.columns.count

    @property
    def is_depthwise(self) -> bool:
        """Whether each channel is a group that makes one unit."""
        return 1 < self.groups == self.channels == self.units

    @property
    def data_shape(self) -> tuple[int, ...]:
        """The shape of the data."""
        return (self.batch, self.rows.size, self.columns.size, self.channels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor that is written."""
        return (self.batch, self.rows.count, self.columns.count, self.pitch)

    @property
    def has_far_weights(self) -> bool:
        """Whether the first tile of a block waits for weights from memory."""
        return self.units * self.depth > _FAR_WEIGHTS

    @property
    def is_wide(self) -> bool:
        """Whether pixels have more channels in the result than in the data; weights stay cached."""
        return self.units > self.channels and not self.has_far_weights

    def in_long_rows(self) -> FloatConv:
        """Return the convolution with all pixels in one row, if each output reads one pixel.

        If it is wide, there are several rows, which stay in a cache.
        """
        plain = all(
            (axis.window, axis.stride, axis.before) == (1, 1, 0) and axis.count == axis.size
            for axis in (self.rows, self.columns)
        )
        if not plain:
            return self
        others = {name: value for name, value in vars(self).items() if name not in _PLACES}
        count, rows = prod(self.data_shape[:3]), 1
        if self.is_wide:
            size = 4 * (self.channels + self.units * (2 if self.has_addend else 1))
            least = -(-count * size // _ROW_BYTES)
            rows = next((rows for rows in range(least, 4 * least) if count % rows == 0), 1)
        columns = count // rows
        return FloatConv(1, Axis(rows, rows, 1), Axis(columns, columns, 1), **others)


_FAR_WEIGHTS = 1 << 17
"""More weights than these do not stay in the caches."""
_ROW_BYTES = 1 << 19
"""The most bytes of a long row of data, results and addends."""
_PLACES = ("batch", "rows", "columns")
