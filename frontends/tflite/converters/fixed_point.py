"""Fixed-point arithmetic of tensors at run time, in int64, which holds every product."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.builder import ModuleBuilder
from qnn_ops.attributes import dtype_range
from qnn_ops.inverse_sqrt import HALF_SQRT_2, HALF_THREE, ITERATIONS
from qnn_ops.softmax_arithmetic import FORTY_EIGHT_OVER_17, MINUS_32_OVER_17, NEWTON_STEPS

_LARGEST = 2**31 - 1
_SQRT_HALF, _SQRT_SQRT_HALF, _LOG_2 = 1518500250, 1805811301, 1488522236  # in Q0.31
_ALPHA_N, _ALPHA_D, _ALPHA_I, _ALPHA_F = 117049297, 127690142, 1057819769, 638450708
_QUARTER = 1 << 23  # in Q6.25


class FixedPoint:
    """Emits the arithmetic of gemmlowp and TFLite on int64 expressions that hold int32 values.

    Sums of rows, of which there is a root or a logarithm, keep their last axis, of size 1.
    """

    def __init__(self, builder: ModuleBuilder) -> None:
        """Emit into a module."""
        self.emit = builder.emit

    def product(self, a: relax.Expr, b: relax.Expr) -> relax.Expr:
        """Return the high half of 2·a·b, rounded half up: SaturatingRoundingDoublingHighMul."""
        total = R.add(R.multiply(a, b), number(1 << 30))
        return self.emit(R.right_shift(total, number(31)))

    def divided(self, x: relax.Expr, bits: relax.Expr) -> relax.Expr:
        """Divide by a power of two, half away from zero: RoundingDivideByPOT."""
        x, bits = self.emit(x), self.emit(bits)
        half = R.right_shift(R.left_shift(number(1), bits), number(1))
        is_away = R.logical_and(R.less(x, number(0)), R.greater(bits, number(0)))
        away = R.astype(self.emit(is_away), "int64")
        return self.emit(R.right_shift(R.subtract(R.add(x, half), away), bits))

    def inverse_sqrt(self, given: relax.Expr) -> tuple[relax.Expr, relax.Expr]:
        """Compute qnn_ops.inverse_sqrt.inverse_sqrt_multiplier."""
        is_large = self.emit(R.greater_equal(given, number(1 << 29)))
        quarter = R.right_shift(given, number(2))
        value = self.emit(R.where(is_large, quarter, R.maximum(given, number(2))))
        reached = self._count_reached(value, [1 << (29 - 2 * pair) for pair in range(1, 14)])
        pairs = self.emit(R.subtract(number(13), reached))
        shift = R.subtract(R.add(number(11), R.astype(is_large, "int64")), pairs)
        shift = self.emit(shift)
        shifted = R.left_shift(value, R.multiply(number(2), pairs))
        data = self.emit(R.right_shift(shifted, number(1)))
        half = self.divided(data, number(1))
        x = number(1 << 28)
        for _ in range(ITERATIONS):
            cube = self._lifted(self.product(self.product(x, x), x), 6)
            change = R.subtract(self.product(number(HALF_THREE), x), self.product(half, cube))
            x = self._lifted(change, 3)
        x = self.product(x, number(HALF_SQRT_2))
        left = self.emit(R.maximum(R.negative(shift), number(0)))
        is_one = self.emit(R.less_equal(given, number(1)))
        multiplier = R.where(is_one, number(_LARGEST), R.left_shift(x, left))
        right = R.where(is_one, number(0), R.maximum(shift, number(0)))
        return self.emit(multiplier), self.emit(right)

    def log(self, total: relax.Expr) -> relax.Expr:
        """Return the logarithm, Q5.26, of Q12.19 numbers of at least 1.

        Source: log_x_for_x_greater_than_or_equal_to_1 of TFLite's kernels/internal/common.h.
        """
        zeros = self._leading_zeros(total)
        scaled = R.left_shift(total, R.subtract(zeros, number(1)))
        half = self.product(self.emit(scaled), number(_SQRT_HALF))
        by_a = R.minimum(R.multiply(half, number(2)), number(_LARGEST))
        exponent_a = R.add(self._power(zeros), number(_QUARTER))
        below = self.product(total, number(_SQRT_HALF))
        headroom = self.emit(R.subtract(self._leading_zeros(below), number(1)))
        by_b = R.minimum(R.left_shift(total, headroom), number(_LARGEST))
        exponent_b = R.subtract(self._power(headroom), number(_QUARTER))
        r = self.emit(R.minimum(by_a, by_b))
        exponent = self.emit(R.maximum(exponent_a, exponent_b))
        middle = R.add(r, number(_SQRT_SQRT_HALF + 1))
        p = self.emit(R.right_shift(middle, number(1)))
        q = self.emit(R.multiply(R.subtract(r, number(_SQRT_SQRT_HALF)), number(2)))
        square = self.product(q, q)
        cube = self.product(self.product(q, square), number(_ALPHA_N))
        numerator = R.add(self.product(q, r), cube)
        inner = R.add(R.add(number(_ALPHA_I), q), self.product(number(_ALPHA_D), square))
        outer = self.product(p, self.emit(inner))
        denominator = R.add(outer, self.product(number(_ALPHA_F), q))
        fraction = self.product(
            self.divided(numerator, number(6)), self._inverse_of_one_more(denominator)
        )
        whole = self.product(exponent, number(_LOG_2))
        return self.emit(R.multiply(R.add(whole, fraction), number(2)))

    def _inverse_of_one_more(self, x: relax.Expr) -> relax.Expr:
        """Compute gemmlowp's one_over_one_plus_x_for_x_in_0_1, of Q0.31."""
        half = self.emit(R.right_shift(R.add(x, number(1 << 31)), number(1)))
        result = R.add(number(FORTY_EIGHT_OVER_17), self.product(half, number(MINUS_32_OVER_17)))
        for _ in range(NEWTON_STEPS):
            result = self.emit(result)
            error = self.emit(R.subtract(number(1 << 29), self.product(half, result)))
            result = R.add(result, R.multiply(self.product(result, error), number(4)))
        return self.emit(R.minimum(R.multiply(result, number(2)), number(_LARGEST)))

    def _leading_zeros(self, x: relax.Expr) -> relax.Expr:
        """Count the zeros before the first bit of int32 values of 2^18 or more."""
        reached = self._count_reached(x, [1 << bit for bit in range(19, 31)])
        return self.emit(R.subtract(number(13), reached))

    def _count_reached(self, x: relax.Expr, limits: list[int]) -> relax.Expr:
        """Count the limits that values reach, whose last axis has the size 1."""
        numbers = relax.const(np.array(limits, np.int64), "int64")
        reached = R.astype(self.emit(R.greater_equal(x, numbers)), "int64")
        return self.emit(R.sum(self.emit(reached), [-1], keepdims=True))

    def _power(self, headroom: relax.Expr) -> relax.Expr:
        """Return 12 less a headroom, in Q6.25."""
        return R.left_shift(R.subtract(number(12), headroom), number(25))

    def _lifted(self, x: relax.Expr, bits: int) -> relax.Expr:
        """Shift to the left, and saturate."""
        shifted = R.minimum(R.left_shift(x, number(bits)), number(_LARGEST))
        return self.emit(R.maximum(shifted, number(-(1 << 31))))


def number(value: int) -> relax.Expr:
    """Return a constant of int64."""
    return relax.const(np.asarray(value, np.int64), "int64")


def saturated(value: relax.Expr, dtype: str) -> relax.Expr:
    """Return int64 values as those of a narrower type that lie next to them."""
    low, high = dtype_range(dtype)
    return R.astype(R.minimum(R.maximum(value, number(low)), number(high)), dtype)
