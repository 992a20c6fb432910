"""The taps of a kernel that a tile of pixels multiplies, without those that only meet padding.

A 7 × 1 kernel on 17 rows has a tenth of its taps in the padding, a 3 × 3 kernel on 8 rows a twelfth
of its rows. The contribution of such a tap is known: zero point times weights. So the sum begins
with that contribution, and the tap is left out. A tile leaves out the taps that none of its pixels
needs. So pixels are numbered along lines that need the same taps: along rows, which leave out
kernel rows, or down columns, which leave out kernel columns.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, Tiling
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.vectors import Array, Index, Vector, kept

_MOST_TAPS = 255
# The largest share of taps: if more are left, reading each tile's range hardly pays.
_WORTH_IT = 0.99


@dataclass(frozen=True)
class Taps:
    """How tiles number pixels, and the rows or columns of the kernel that each tile multiplies.

    Attributes:
        spec: the convolution.
        down: whether pixels are numbered down columns of an image, and tiles leave out columns of
            the kernel; otherwise they are numbered along rows, and tiles leave out rows of the
            kernel.
    """

    spec: ConvSpec
    down: bool

    @property
    def count(self) -> int:
        """Rows or columns of the kernel."""
        return self.spec.kernel_width if self.down else self.spec.kernel_height

    def ranges(self, mr: int) -> Array:
        """Return the taps that tiles of ``mr`` pixels multiply: uint8 [tiles, 2], first and end."""
        return _ranges(self, mr)

    def ranges_of(self, tiling: Tiling) -> Array:
        """Return the taps of all tiles, section by section: uint8 [tiles, 2]."""
        return np.concatenate([self.ranges(section.mr) for section in tiling])

    def windows_of(self, tiling: Tiling) -> Array:
        """Return what all tiles multiply, section by section: uint8 [tiles, 4].

        The first two are the rows of the kernel, first and end. The others are the parts of each of
        a row's runs, or its runs if there are several: parts are columns if tiles leave out some;
        otherwise the whole run is the only part.
        """
        ranges, spec = self.ranges_of(tiling), self.spec
        others = np.zeros_like(ranges)
        others[:, 1] = spec.kernel_height if self.down else spec.runs_per_row
        return np.hstack([others, ranges] if self.down else [ranges, others])

    def share(self, mr: int) -> float:
        """Return the share of all taps that tiles of ``mr`` pixels multiply."""
        return _share(self, mr)

    def sums(self, kernel: Array) -> Array:
        """Sum the contributions of taps to a pixel in the padding.

        Args:
            kernel: integers of shape [channels, KH, KW, staged_channels].

        Returns:
            int32 [taps + 1, channels]: the sum of all taps before each; sums wrap.
        """
        of_taps = kernel.sum(axis=(1, 3) if self.down else (2, 3), dtype=np.int64).T
        before = np.cumsum(np.pad(of_taps, ((1, 0), (0, 0))), axis=0)
        return (before * self.spec.staged_zero_point).astype(np.int32)


def taps_of(spec: ConvSpec) -> list[Taps]:
    """List the ways to leave out taps that pay."""
    top, left, bottom, right = np.add(spec.padding, spec.edges)
    found = []
    if top + bottom and spec.kernel_height > 1:
        found.append(Taps(spec, down=False))
    # A tap must consist of whole K-steps.
    if left + right and spec.kernel_width > 1 and spec.staged_channels % spec.k_step == 0:
        found.append(Taps(spec, down=True))
    return [taps for taps in found if ranges_fit(spec) and _share_of_lines(taps) < _WORTH_IT]


def ranges_fit(spec: ConvSpec) -> bool:
    """Tell whether ranges of taps fit their dtype."""
    return max(spec.kernel_height, spec.kernel_width) <= _MOST_TAPS


def rows_of(spec: ConvSpec) -> Taps | None:
    """Return the way to leave out rows, if it pays."""
    return next((taps for taps in taps_of(spec) if not taps.down), None)


def tile_of(section: Section, first: Index) -> Index:
    """Return the number of the tile that begins with a pixel; the last one may begin anywhere."""
    return T.truncdiv(first + section.mr - 1, section.mr)


def range_of(
    ranges: Table, before: Index, section: Section, first: Index, axis: int = 0
) -> tuple[Index, Index]:
    """Return a range of a tile, first and end.

    Args:
        ranges: from ``Taps.ranges_of`` or ``Taps.windows_of``.
        before: the tiles in the sections before the tile's section.
        section: the tile's section.
        first: the first pixel of the tile.
        axis: which of the ranges.
    """
    tile = before + tile_of(section, first)
    low, high = (kept(T.Cast("int32", ranges[tile, 2 * axis + end])) for end in range(2))
    return low, high


def with_left_out(
    start: Vector, before: Table, taps: tuple[Index, Index], vector: Index, lanes: int
) -> Vector:
    """Add the contribution of the taps that a tile leaves out to a vector of channels.

    Args:
        start: the first value of the vector's sums without that contribution.
        before: ``Taps.sums``, as vectors.
        taps: the taps that the tile multiplies, first and end.
        vector: the vector's number.
        lanes: the vector's lanes.
    """
    low, high = taps
    last, place = before.shape[0] - 1, T.ramp(0, 1, lanes)
    behind = before[last, vector, place] - before[high, vector, place]
    return start + before[low, vector, place] + behind


def _share_of_lines(taps: Taps) -> float:
    low, high = _of_lines(taps)
    return float((high - low).mean() / taps.count)


@cache
def _share(taps: Taps, mr: int) -> float:
    ranges = taps.ranges(mr).astype(np.int64)
    return float((ranges[:, 1] - ranges[:, 0]).mean() / taps.count)


def _of_lines(taps: Taps) -> tuple[Array, Array]:
    """Return the first tap that meets data, for each row or column of an image, and the end."""
    spec = taps.spec
    axis = int(taps.down)
    size = (spec.in_height, spec.in_width)[axis] - spec.edges[axis] - spec.edges[axis + 2]
    lines = (spec.out_height, spec.out_width)[axis]
    # The begin and the end of the data for each line, in pixels from the line's first tap.
    begin = spec.padding[axis] + spec.edges[axis] - np.arange(lines) * spec.strides[axis]
    end = begin + size
    dilation = spec.dilation[axis]
    low = np.clip(-(-begin // dilation), 0, taps.count)
    return low, np.clip(-(-end // dilation), low, taps.count)


@cache
def _ranges(taps: Taps, mr: int) -> Array:
    spec = taps.spec
    low, high = _of_lines(taps)
    length = spec.out_height if taps.down else spec.out_width
    first = np.minimum(np.arange(-(-spec.out_pixels // mr)) * mr, spec.out_pixels - mr)
    top, bottom = first // length, (first + mr - 1) // length
    # Neither bound rises from line to line. A tile may end in another image than it begins in.
    is_whole = top // len(low) == bottom // len(low)
    begin = np.where(is_whole, low[bottom % len(low)], low[-1])
    end = np.where(is_whole, high[top % len(low)], high[0])
    return np.stack([begin, end], axis=1).astype(np.uint8)
