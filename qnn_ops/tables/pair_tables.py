"""Tables of functions of two 8-bit values, and of quotients of two int16 values."""

from dataclasses import dataclass

import numpy as np

from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    float32_quotient,
    quantize_multiplier,
    saturating_rounding_doubling_high_mul,
)
from qnn_ops.arrays import Array, Int64Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.errors import QnnError
from qnn_ops.tables.softmax import reciprocal

_LARGEST_BYTE_SHIFT = 23  # the largest shift without a left shift of quotients in TFLite


def quotient_table(
    lhs: tuple[float, int],
    rhs: tuple[float, int],
    output: tuple[float, int],
    dtype: str,
    bounds: tuple[int, int],
) -> Array:
    """Return the table of quotients.

    Source: DivElementwise of TFLite's kernels/internal/reference/div.h. The divisor's reciprocal is
    Newton's, in fixed point. If results are far too coarse for small dividends, these are
    shifted by the last five bits of a count, as on x86 processors. If the divisor is 0, TFLite
    ends a run with an error; here the result is the zero point.

    Args:
        lhs: scale and zero point of the dividend.
        rhs: scale and zero point of the divisor.
        output: scale and zero point of the result.
        dtype: int8 or uint8, of all three.
        bounds: the lowest and the highest result.

    Raises:
        QnnError: if the scales are too far apart for the framework's shifts.
    """
    multiplier, shift = _multiplier(lhs[0], rhs[0], output[0], _LARGEST_BYTE_SHIFT)
    lowest, highest = dtype_range(dtype)
    every = np.arange(lowest, highest + 1)
    dividend, divisor = np.broadcast_arrays((every - lhs[1])[:, None], (every - rhs[1])[None, :])
    sign, size = np.sign(divisor), np.maximum(np.abs(divisor), 1)
    dividend = dividend * sign
    # Q12.19 in place of integers gives the same fraction.
    inverse, bits = reciprocal(size << 19)
    headroom = _spare_bits(dividend)
    quotient = saturating_rounding_doubling_high_mul(dividend << headroom, inverse)
    scaled = saturating_rounding_doubling_high_mul(quotient, np.int64(multiplier))
    total = _divided(scaled.astype(np.int64), bits + headroom - shift)
    result = np.where(divisor == 0, 0, total) + output[1]
    return clamp_to(result, dtype, *bounds)


def _multiplier(
    lhs_scale: float, rhs_scale: float, output_scale: float, most: int
) -> tuple[int, int]:
    """Return a quotient's multiplier, whose shift is ``most`` at most, as Q0.31 and the shift."""
    real = float32_quotient((lhs_scale,), rhs_scale, output_scale)
    if not np.isfinite(real) or int(quantize_multiplier(real)[1]) > most:
        raise QnnError(
            f"the scales do not go together: a step of the quotient is {real:.4g} steps of the "
            "output, too many for TFLite's shifts"
        )
    multiplier, shift = quantize_multiplier(real)
    return int(multiplier), int(shift)


def _spare_bits(dividend: Int64Array) -> Int64Array:
    """Count the bits by which int32 has room to shift numbers left."""
    size = np.abs(dividend)
    headroom = 31 - np.frexp(size.astype(np.float64))[1].astype(np.int64)
    # In -2^k all bits but the sign are 0, so one more bit is free.
    return headroom + ((dividend < 0) & (size & (size - 1) == 0))


def _divided(x: Int64Array, exponent: Int64Array) -> Int64Array:
    """Divide by a power of two, half away from zero, as gemmlowp does on x86 beyond 2^31."""
    mask = np.where(exponent < 32, (np.int64(1) << np.minimum(exponent, 32)) - 1, -1)
    mask = mask.astype(np.int32).astype(np.int64)
    rest, threshold = x & mask, (mask >> 1) + (x < 0)
    return np.asarray((x >> (exponent & 31)) + (rest > threshold))


_LARGEST_INT16_SHIFT = 48
LOWEST_EXPONENT = -64
"""The exponent of the first entry of tables of exponents."""


@dataclass(frozen=True)
class QuotientTables:
    """The parts of quotients of int16 values: dividends, reciprocals and shifts.

    Attributes:
        lifted: each dividend from -2^15 to 2^15, shifted left by its spare bits: int64 [65537].
        headroom: the number of each dividend's spare bits.
        sign: the sign of each divisor, int64 [65536].
        inverse: the reciprocal of each divisor's magnitude, Q0.31.
        bits: the bits of each divisor's magnitude, less one.
        mask: for each exponent, the bits that x86 processors shift out of 64 bits.
        count: for each exponent, the count by which x86 processors shift 32 bits.
        multiplier: the quotient's multiplier, Q0.31.
        shift: the multiplier's shift.
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
    """Return the tables of quotients; ``quotient_table`` names the source of the arithmetic.

    Raises:
        QnnError: if the scales are too far apart for the framework's shifts.
    """
    multiplier, shift = _multiplier(lhs_scale, rhs_scale, output_scale, _LARGEST_INT16_SHIFT)
    dividend = np.arange(-(2**15), 2**15 + 1)
    headroom = _spare_bits(dividend)
    divisor = dividend[:-1]
    size = np.maximum(np.abs(divisor), 1)
    bits = np.frexp(size.astype(np.float64))[1].astype(np.int64) - 1
    # Q12.19 from 1 to 2 in place of integers gives the same fraction.
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
