"""A place in the bytes of a file, which never reads past their end."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.mxnet.errors import MXNetFormatError, format_error

Array = np.ndarray[Any, Any]

# What sparse and compressed arrays may grow to: so many bytes, and so many for each byte of the
# file. A sparse matrix with one element in a hundred grows thirtyfold; files that want more are
# made to fill the memory.
_FREE_GROWTH = 1 << 24
_GROWTH = 64

MAX_RANK = 32  # of a numpy array, before numpy 2


class Cursor:
    """Reads a file from its beginning to its end.

    Args:
        source: what to call the file in messages.
        data: its bytes.

    Attributes:
        source: the same.
        data: the same.
        position: the byte that is read next.
    """

    def __init__(self, source: str, data: memoryview) -> None:
        self.source = source
        self.data = data
        self.position = 0
        self._growth = _FREE_GROWTH + _GROWTH * len(data)

    @property
    def left(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self.data) - self.position

    def error(self, offset: int, problem: str) -> MXNetFormatError:
        """Return an error about a byte of the file."""
        return format_error(self.source, offset, problem)

    def take(self, size: int, what: str) -> memoryview:
        """Return the next bytes.

        Raises:
            MXNetFormatError: the file has fewer.
        """
        if not 0 <= size <= self.left:
            raise self.error(
                self.position,
                f"{what} needs {size} bytes, but the file ends after {self.left}",
            )
        start = self.position
        self.position += size
        return self.data[start : self.position]

    def numbers(self, layout: str, what: str) -> tuple[int, ...]:
        """Return the next little-endian numbers, by the letters of `struct`."""
        layout = f"<{layout}"
        return struct.unpack(layout, self.take(struct.calcsize(layout), what))

    def count(self, item_size: int, what: str) -> int:
        """Return the next u64, of items that take at least some bytes each."""
        start = self.position
        (count,) = self.numbers("Q", f"the number of {what.removeprefix('the ')}")
        if count * item_size > self.left:
            raise self.error(
                start, f"{what} are {count}, more than fit into the {self.left} bytes behind"
            )
        return count

    def array(self, shape: Sequence[int], dtype: np.dtype[Any], what: str) -> Array:
        """Return the next array, copied; its elements are contiguous."""
        data = self.take(math.prod(shape) * dtype.itemsize, what)
        return np.frombuffer(data, dtype).reshape(shape).copy()

    def grow(self, size: int, offset: int, what: str) -> None:
        """Account for bytes in memory that are not in the file.

        Args:
            size: how many.
            offset: where in the file they come from.
            what: what they are for.

        Raises:
            MXNetFormatError: they are too many for a file of this size.
        """
        self._growth -= size
        if self._growth < 0:
            raise self.error(
                offset,
                f"{what} unpacks to {size} bytes, too many for a file of {len(self.data)}",
            )
