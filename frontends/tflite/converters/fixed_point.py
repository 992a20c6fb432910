"""Fixed-point arithmetic of tensors at run time, in int64, which can hold every product."""

from typing import Any

import numpy as np

from qnn_ops.arithmetic.fixed_point import reduced_multiplier
from qnn_ops.arithmetic.inverse_sqrt import HALF_SQRT_2, HALF_THREE, ITERATIONS
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.tables.softmax import FORTY_EIGHT_OVER_17, MINUS_32_OVER_17, NEWTON_STEPS

_LARGEST = 2**31 - 1
_SQRT_HALF, _SQRT_SQRT_HALF, _LOG_2 = 1518500250, 1805811301, 1488522236  # in Q0.31
_ALPHA_N, _ALPHA_D, _ALPHA_I, _ALPHA_F = 117049297, 127690142, 1057819769, 638450708
_QUARTER = 1 << 23  # in Q6.25


def product(a: Any, b: Any) -> Any:
    """Return the high half of 2·a·b, rounded half up: SaturatingRoundingDoublingHighMul."""
    return (a * b + (1 << 30)) >> 31


def divided(x: Any, bits: Any) -> Any:
    """Divide by a power of two, half away from zero: RoundingDivideByPOT."""
    is_away = (x < 0) & (bits > 0)
    half = (1 << bits) >> 1
    return (x + half - is_away.astype("int64")) >> bits


def rescaled(x: Any, multiplier: int, shift: int) -> Any:
    """Scale int64 numbers by 15 bits of a multiplier, rounded half up; results wrap at int32.

    Source: MultiplyByQuantizedMultiplier of TFLite's kernels/internal/common.cc, for int64.
    """
    down = 15 - shift
    scaled = (x * int(reduced_multiplier(multiplier)) + (1 << (down - 1))) >> down
    return scaled.astype("int32").astype("int64")


def inverse_sqrt(given: Any) -> tuple[Any, Any]:
    """Compute inverse_sqrt_multiplier (qnn_ops/arithmetic) of sums that keep their last axis."""
    is_large = given >= 1 << 29
    value = np.where(is_large, given >> 2, np.maximum(given, 2))
    pairs = 13 - _count_reached(value, [1 << (29 - 2 * pair) for pair in range(1, 14)])
    shift = 11 + is_large.astype("int64") - pairs
    half = divided((value << (2 * pairs)) >> 1, 1)
    x: Any = 1 << 28
    for _ in range(ITERATIONS):
        cube = _lifted(product(product(x, x), x), 6)
        x = _lifted(product(HALF_THREE, x) - product(half, cube), 3)
    x = product(x, HALF_SQRT_2)
    left, is_one = np.maximum(-shift, 0), given <= 1
    multiplier = np.where(is_one, _LARGEST, x << left)
    return multiplier, np.where(is_one, 0, np.maximum(shift, 0))


def log(total: Any) -> Any:
    """Return the logarithm, Q5.26, of Q12.19 numbers of at least 1 whose last axis has size 1.

    Source: log_x_for_x_greater_than_or_equal_to_1 of TFLite's kernels/internal/common.h.
    """
    zeros = _leading_zeros(total)
    half = product(total << (zeros - 1), _SQRT_HALF)
    headroom = _leading_zeros(product(total, _SQRT_HALF)) - 1
    by_a = np.minimum(half * 2, _LARGEST)
    by_b = np.minimum(total << headroom, _LARGEST)
    r = np.minimum(by_a, by_b)
    # 12 less a headroom, in Q6.25.
    exponent_a = ((12 - zeros) << 25) + _QUARTER
    exponent = np.maximum(exponent_a, ((12 - headroom) << 25) - _QUARTER)
    p = (r + (_SQRT_SQRT_HALF + 1)) >> 1
    q = (r - _SQRT_SQRT_HALF) * 2
    square = product(q, q)
    cube = product(product(q, square), _ALPHA_N)
    first, second = product(q, r), product(_ALPHA_D, square)
    outer, last = product(p, _ALPHA_I + q + second), product(_ALPHA_F, q)
    numerator = divided(first + cube, 6)
    fraction = product(numerator, _inverse_of_one_more(outer + last))
    return (product(exponent, _LOG_2) + fraction) * 2


def _inverse_of_one_more(x: Any) -> Any:
    """Compute gemmlowp's one_over_one_plus_x_for_x_in_0_1, of Q0.31."""
    half = (x + (1 << 31)) >> 1
    result = FORTY_EIGHT_OVER_17 + product(half, MINUS_32_OVER_17)
    for _ in range(NEWTON_STEPS):
        result = result + product(result, (1 << 29) - product(half, result)) * 4
    return np.minimum(result * 2, _LARGEST)


def _leading_zeros(x: Any) -> Any:
    """Count the zeros before the first bit of int32 values of 2^18 or more."""
    return 13 - _count_reached(x, [1 << bit for bit in range(19, 31)])


def _count_reached(x: Any, limits: list[int]) -> Any:
    """Count the limits that values reach; the values' last axis has the size 1."""
    return (x >= np.array(limits, np.int64)).sum(axis=-1, dtype="int64", keepdims=True)


def _lifted(x: Any, bits: int) -> Any:
    """Shift to the left, and saturate."""
    return np.maximum(np.minimum(x << bits, _LARGEST), -(1 << 31))


def saturated(value: Any, dtype: str) -> Any:
    """Clamp int64 values to the range of a narrower type, and convert them."""
    return np.clip(value, *dtype_range(dtype)).astype(dtype)
