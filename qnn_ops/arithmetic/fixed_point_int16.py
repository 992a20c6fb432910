"""gemmlowp's fixed-point arithmetic of 16 bits, in numpy."""

import numpy as np

from qnn_ops.arrays import Array, Int64Array

_INT16 = np.iinfo(np.int16)


def high_mul_int16(a: Array, b: Array | int) -> Int64Array:
    """Compute gemmlowp's SaturatingRoundingDoublingHighMul of int16."""
    return saturate_int16((a.astype(np.int64) * b + (1 << 14)) >> 15)


def divide_by_pot_int16(x: Int64Array, exponent: int) -> Int64Array:
    """Compute gemmlowp's RoundingDivideByPOT of int16. Its mask wraps to -1 from 2^16 on."""
    mask = (1 << exponent) - 1 if exponent < 16 else -1
    return np.asarray((x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0)))


def saturate_int16(x: Array) -> Int64Array:
    """Clamp integers to the range of int16; the result is int64."""
    return np.clip(x.astype(np.int64), _INT16.min, _INT16.max)
