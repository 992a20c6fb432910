"""Divides sums of bytes by numbers of pixels, as products.

(a · m >> 16) >> s equals a // n for every a < 257 n, if m = ceil(2^(16 + s) / n) and s is large
enough for m to have 16 bits. For a few odd n the rounded product (a · m + 2^14) >> 15 is the
average itself.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

MAX_TAPS = 127
"""The most pixels whose sums have 15 bits."""

COLUMNS = 5
"""The columns of the table of averages. It has a row for each number of pixels."""


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
