"""Bounds on the work and memory that a small file may cause: one rule for all formats.

A file of some bytes can ask for terabytes, of constants that import and build compute, or of
tensors of a run. Import checks both by their shapes, before it computes anything.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from frontends.errors import UnsupportedError

MOST_ELEMENTS = (1 << 31) - 1
"""The most elements of a tensor: indices of kernels have 32 bits."""

MOST_MADE = 1 << 28
"""The most bytes of all tensors computed from constants, unless ``GROWTH`` allows more."""

MOST_GROWN = 1 << 30
"""The most bytes of a tensor of a run, unless ``GROWTH`` allows more."""

GROWTH = 64
"""Results may be this many times as large as the model's own tensors."""

MOST_INDICES = 1 << 23
"""The most elements of an axis whose indices are computed at import."""

MOST_ITERATIONS = 1 << 24
"""The most iterations of a loop whose only end is their number."""


def bytes_of(shape: Sequence[int], dtype: str) -> int:
    """Return the least bytes of a tensor; one for each element if numpy lacks the dtype."""
    try:
        return prod(map(number_of, shape)) * np.dtype(dtype).itemsize
    except TypeError:
        return prod(map(number_of, shape))


def number_of(size: int) -> int:
    """Return a size, or its least value if it is open."""
    if isinstance(size, int | np.integer):
        return int(size)
    from qnn_ops.dialect.sizes import least  # with TVM, which a model of numbers does not need

    return least(size)


def check_elements(shape: Sequence[int]) -> None:
    """Check that indices reach each element of a tensor.

    Raises:
        UnsupportedError: it has too many elements.
    """
    if (count := prod(map(number_of, shape))) > MOST_ELEMENTS:
        raise UnsupportedError(f"a tensor has {count:,} elements, the most are {MOST_ELEMENTS:,}")


def check_grown(shape: Sequence[int], dtype: str, given: int) -> None:
    """Check a tensor of a run, such as the result of a tile or fill.

    Args:
        shape: of the tensor.
        dtype: of the tensor.
        given: the bytes of all inputs and constants that the model has.

    Raises:
        UnsupportedError: it is too large.
    """
    check_elements(shape)
    count, most = bytes_of(shape, dtype), max(MOST_GROWN, GROWTH * given)
    if count > most:
        raise UnsupportedError(
            f"it makes a tensor of {count:,} bytes ({list(shape)} {dtype}), the most are {most:,}"
        )


def check_indices(count: int) -> None:
    """Check an axis whose values import traces back to their origins.

    Raises:
        UnsupportedError: it has too many values.
    """
    if count > MOST_INDICES:
        raise UnsupportedError(f"an axis of {count:,} values, the most are {MOST_INDICES:,}")


def check_iterations(count: int) -> None:
    """Check a loop that ends only after a known number of iterations.

    Raises:
        UnsupportedError: it has too many iterations.
    """
    if count > MOST_ITERATIONS:
        raise UnsupportedError(f"it has {count:,} iterations, the most are {MOST_ITERATIONS:,}")


class Allowance:
    """The bytes that import and build may compute from a model's constants alone."""

    def __init__(self, held: int, given: int = 0) -> None:
        """Start with no results.

        Args:
            held: the bytes of the constants that the model's file has.
            given: the bytes of inputs and states.
        """
        self.most = MOST_MADE + GROWTH * held
        self.made, self._all = 0, held + given

    def check(self, shape: Sequence[int], dtype: str) -> None:
        """Check a tensor of a run, as ``check_grown`` does."""
        check_grown(shape, dtype, self._all)

    def make(self, shape: Sequence[int], dtype: str) -> None:
        """Count a result, before it is computed.

        Raises:
            UnsupportedError: it, or the sum of all results, is too large.
        """
        check_elements(shape)
        count = bytes_of(shape, dtype)
        if self.made + count > self.most:
            raise UnsupportedError(
                f"it makes a constant of {count:,} bytes ({list(shape)} {dtype}): all results of "
                f"constants alone may have {self.most:,}"
            )
        self.made += count
