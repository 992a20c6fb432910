"""The shape and arithmetic of a pooling.

Averages divide sums of bytes by numbers of pixels, as products: (a · m >> 16) >> s equals a // n
for every a < 257 n, if m = ceil(2^(16 + s) / n) and s is large enough for m to have 16 bits. For a
few odd n the rounded product (a · m + 2^14) >> 15 is the average itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.tasks import task_count
from legalize.kernels.ir.vectors import Index, kept
from qnn_ops.dialect.attributes import bounds
from qnn_ops.dialect.registry import Attrs, TensorSpec

MAX_TAPS = 127
"""The most pixels whose sums have 15 bits."""

COLUMNS = 5
"""The columns of the table of averages. It has a row for each number of pixels."""

# Roughly what one thread reads.
_TAPS_PER_MICROSECOND = 40_000


@dataclass(frozen=True)
class PoolSpec:
    """One pooling.

    Attributes:
        in_shape: [N, H, W, C].
        out_shape: [N, H, W, C].
        dtype: int8 or uint8.
        pool_type: ``max`` or ``avg``.
        window: height and width in pixels.
        strides: down and across.
        padding: at the top and at the left, in pixels.
        bounds: the lowest and highest output.
        origin: the value that an average's ties round away from, or relative to which they round
            to even.
        rounding: ``half_away`` or ``half_even``.
        count_include_pad: whether padding counts as pixels that hold the origin.
    """

    in_shape: tuple[int, int, int, int]
    out_shape: tuple[int, int, int, int]
    dtype: str
    pool_type: str
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int]
    bounds: tuple[int, int]
    origin: int
    rounding: str = "half_away"
    count_include_pad: bool = False

    def span(self, number: Index, axis: int, size: Index) -> tuple[Index, Index]:
        """Write a window's first pixel along an axis, and the number of pixels that it covers.

        Args:
            number: the window's number along the axis.
            axis: 0 or 1, down or across.
            size: the image's size along the axis.
        """
        window = self.window[axis]
        start = number * self.strides[axis] - self.padding[axis]
        if self.is_inside(axis):
            return start, window
        first = kept(T.max(start, 0))
        return first, kept(T.min(start + window, size) - first)

    def is_inside(self, axis: int) -> bool:
        """Tell whether no window reaches the padding along an axis, 0 or 1."""
        reach = (self.out_shape[1 + axis] - 1) * self.strides[axis] + self.window[axis]
        return self.padding[axis] == 0 and reach <= self.in_shape[1 + axis]


def pool_spec(attrs: Attrs, data: TensorSpec, out_shape: tuple[int, int, int, int]) -> PoolSpec:
    """Describe a pooling of the dialect."""
    batch, height, width, channels = data.shape
    return PoolSpec(
        in_shape=(batch, height, width, channels),
        out_shape=out_shape,
        dtype=data.dtype,
        pool_type=attrs.pool_type,
        window=attrs.pool_size,
        strides=attrs.strides,
        padding=attrs.padding[:2],
        bounds=bounds(attrs, data.dtype),
        origin=attrs.origin,
        rounding=attrs.rounding,
        count_include_pad=attrs.count_include_pad,
    )


class Sizes(NamedTuple):
    """Sizes that the code may read.

    It still knows whether there are several tasks, whether windows reach the padding, and how many
    vectors of channels it takes at a time.

    Attributes:
        height: rows of an image.
        width: columns of an image.
        channels: channels of a pixel.
        out_height: rows of an image's output.
        out_width: columns of an image's output.
        first: the first window of a row that does not reach the padding beside the image.
        last: the window after the last one like it.
        tasks: tasks that share the rows of all outputs.
    """

    height: Index
    width: Index
    channels: Index
    out_height: Index
    out_width: Index
    first: Index
    last: Index
    tasks: Index

    @classmethod
    def known(cls, spec: PoolSpec) -> Sizes:
        """Return the sizes of a pooling."""
        _, height, width, channels = spec.in_shape
        _, out_height, out_width, _ = spec.out_shape
        stride, padding = spec.strides[1], spec.padding[1]
        first = min(-(-padding // stride), out_width)
        last = min(max((width - spec.window[1] + padding) // stride + 1, first), out_width)
        tasks = task_count(prod(spec.out_shape) * prod(spec.window) / _TAPS_PER_MICROSECOND)
        return cls(height, width, channels, out_height, out_width, first, last, tasks)

    @classmethod
    def read(cls, table: Table) -> Sizes:
        """Read the sizes from a table."""
        return cls(*table.numbers(len(cls._fields)))


def divisors(most_taps: int) -> npt.NDArray[np.uint16]:
    """Return the factors and shifts that averages of n values need.

    Returns:
        uint16 [most_taps + 1, 5]: for each n from 2 on m, s, n // 2, whether n is even; and for
        any n itself. (TVM would split a cast of its own bounds into unsigned terms, one negative.)
    """
    rows = np.zeros((most_taps + 1, COLUMNS), np.uint16)
    rows[:, -1] = np.arange(most_taps + 1)
    for taps in range(2, most_taps + 1):
        shift = (taps - 1).bit_length() - 1
        multiplier = -(-(1 << (16 + shift)) // taps)
        rows[taps] = multiplier, shift, taps // 2, taps % 2 == 0, taps
    return rows


@cache
def rounded_factor(taps: int) -> int | None:
    """Return m such that (a · m + 2^14) >> 15 is the average of ``taps`` bytes with sum a.

    Returns:
        None if there is no such m. Even numbers have none, as they have ties.
    """
    sums = np.arange(255 * taps + 1)
    factor = round(2**15 / taps)
    averages = (sums * factor + 2**14) >> 15
    is_exact = taps % 2 and np.array_equal(averages, (sums + taps // 2) // taps)
    return factor if is_exact else None
