"""The sizes of a pooling: constants of its code, or numbers that it reads from a table."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.tasks import task_count
from legalize.kernels.ir.vectors import Index, kept
from legalize.kernels.pool.spec import PoolSpec

# Roughly what one thread reads.
_TAPS_PER_MICROSECOND = 40_000


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
        return cls(*(kept(table[i]) for i in range(len(cls._fields))))
