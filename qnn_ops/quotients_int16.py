"""Tables of what the quotient of two int16 values is made from; see ``qnn_ops.pair_tables``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qnn_ops.arithmetic import Int64Array, quantize_multiplier
from qnn_ops.errors import QnnError
from qnn_ops.softmax_arithmetic import reciprocal

_LARGEST_SHIFT = 48
LOWEST_EXPONENT = -64
"""That of the first entry of tables of exponents."""


@dataclass(frozen=True)
class QuotientTables:
    """What a quotient of int16 values consists of: a dividend, a reciprocal and a shift.

    Attributes:
        lifted: of each dividend from -2^15 to 2^15, without spare bits: int64 [65537].
        headroom: how many bits those were.
        sign: of each divisor, int64 [65536].
        inverse: of its size, Q0.31.
        bits: of its size, less one.
        mask: of each exponent, of the bits that are shifted out, as x86 processors shift 64 bits.
        count: of each exponent, how many bits they shift 32 bits by.
        multiplier: of the quotient, Q0.31.
        shift: of the multiplier.
    """

    lifted: Int64Array
    headroom: Int64Array
    sign: Int64Array
    inverse: Int64Array
    bits: Int64Array
    mask: Int64Array
    count: Int64Array
    multiplier: int
    shift: int


def quotient_tables_int16(
    lhs_scale: float, rhs_scale: float, output_scale: float
) -> QuotientTables:
    """Return the tables; source of the arithmetic as of ``qnn_ops.pair_tables.quotient_table``.

    Raises:
        QnnError: if the scales are too far apart for the framework's shifts.
    """
    with np.errstate(all="ignore"):
        real = float(np.float32(lhs_scale) / (np.float32(rhs_scale) * np.float32(output_scale)))
    if not np.isfinite(real) or int(quantize_multiplier(real)[1]) > _LARGEST_SHIFT:
        raise QnnError(
            f"the scales do not go together: a step of the quotient is {real:.4g} steps of the "
            "output, too many for TFLite's shifts"
        )
    multiplier, shift = (int(part) for part in quantize_multiplier(real))
    dividend = np.arange(-(2**15), 2**15 + 1)
    size = np.abs(dividend)
    headroom = 31 - np.frexp(size.astype(np.float64))[1].astype(np.int64)
    # Of -2^k all bits but the sign are 0: one more is free.
    headroom = headroom + ((dividend < 0) & (size & (size - 1) == 0))
    divisor = dividend[:-1]
    size = np.maximum(np.abs(divisor), 1)
    bits = np.frexp(size.astype(np.float64))[1].astype(np.int64) - 1
    # Q12.19 from 1 to 2 in place of integers: the fraction is the same.
    inverse, _ = reciprocal(size << (19 - bits))
    exponents = np.arange(LOWEST_EXPONENT, 96)
    below = np.left_shift(np.uint64(1), (exponents & 63).astype(np.uint64)) - np.uint64(1)
    mask = below.astype(np.int32).astype(np.int64)
    return QuotientTables(
        dividend << headroom,
        headroom,
        np.sign(divisor),
        inverse,
        bits,
        mask,
        exponents & 31,
        multiplier,
        shift,
    )
