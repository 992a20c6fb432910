"""The inverse square root of integers, in fixed point."""

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.fixed_point import (
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from qnn_ops.arrays import Int32Array, Int64Array

HALF_THREE = (1 << 28) + (1 << 27)
HALF_SQRT_2 = 1518500250
"""1.5 in Q3.28, and half the root of 2 in Q0.31."""

ITERATIONS = 5
_LARGEST = (1 << 31) - 1


def inverse_sqrt_multiplier(values: npt.ArrayLike) -> tuple[Int32Array, Int64Array]:
    """Write 1 / sqrt(value) as a Q31 multiplier and a right shift.

    Computed by five steps of Newton's iteration from 1, on the value times a power of 4. Source:
    GetInvSqrtQuantizedMultiplierExp of TFLite's kernels/internal/common.h, whose shift is negated.

    Args:
        values: integers from 0 to 2^31 - 1, any shape; 0 counts as 1.

    Returns:
        (multiplier, shift): int32 and int64 of the shape of ``values``.
    """
    given = np.asarray(values, np.int64)
    large = given >= 1 << 29
    value = np.where(large, given // 4, np.maximum(given, 2))
    pairs = sum((value < 1 << (29 - 2 * pair)).astype(np.int64) for pair in range(1, 14))
    shift = 11 + large - pairs
    data = (value << (2 * pairs)) >> 1
    half = rounding_divide_by_pot(data, 1)
    x = np.full(data.shape, 1 << 28, np.int64)
    for _ in range(ITERATIONS):
        cube = _lifted(_product(_product(x, x), x), 6)
        x = _lifted(_product(np.full_like(x, HALF_THREE), x) - _product(half, cube), 3)
    x = _product(x, np.full_like(x, HALF_SQRT_2))
    x = np.where(shift < 0, x << np.maximum(-shift, 0), x)
    is_one = given <= 1
    multiplier = np.where(is_one, _LARGEST, x).astype(np.int32)
    return multiplier, np.where(is_one, 0, np.maximum(shift, 0)).astype(np.int64)


def _product(a: npt.ArrayLike, b: npt.ArrayLike) -> Int64Array:
    return saturating_rounding_doubling_high_mul(a, b).astype(np.int64)


def _lifted(x: Int64Array, bits: int) -> Int64Array:
    """Shift to the left, and saturate."""
    return np.clip(x << bits, -(1 << 31), _LARGEST)
