"""The fixed-point arithmetic against slow oracles in exact integers and fractions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    conv_multiplier,
    divide_by_pot_int16,
    high_mul_int16,
    multiply_by_quantized_multiplier,
    multiply_by_reduced_multiplier,
    quantize_multiplier,
    reduced_multiplier,
    round_half_away,
    rounding_divide_by_pot,
    saturate_int16,
    saturating_rounding_doubling_high_mul,
    scaled_float32,
    scaled_float64,
    scaled_once,
)
from qnn_ops.errors import QnnError
from tests.support.errors import fails

LOW, HIGH = -(2**31), 2**31 - 1
HALF = Fraction(1, 2)

int32s = st.integers(LOW, HIGH)
real_multipliers = st.floats(2.0**-30, 2.0**29)


def corners() -> list[int]:
    """Return the values around every power of two, and the ends of int32."""
    near = {sign * 2**bit + step for bit in range(32) for sign in (1, -1) for step in range(-2, 3)}
    return sorted(value for value in near | {0, LOW, HIGH} if LOW <= value <= HIGH)


def random_int32(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(LOW, HIGH, count, dtype=np.int32, endpoint=True)


def qmult(real: float) -> tuple[int, int]:
    q, shift = quantize_multiplier(real)
    return int(q), int(shift)


def multiply_once(x: Any, q: Any, shift: Any) -> Any:
    return scaled_once(np.asarray(x), q, shift, 31)


def rescaled(x: Any, scale: Any) -> Any:
    return scaled_float32(np.asarray(x), scale)


def half_away(x: Fraction) -> int:
    return int(math.copysign(1, x)) * math.floor(abs(x) + HALF)


def half_up(x: Fraction) -> int:
    return math.floor(x + HALF)


def wrapped(x: int) -> int:
    return (x - LOW) % 2**32 + LOW


def exact_high_mul(a: int, b: int) -> int:
    return min(half_up(Fraction(a * b, 2**31)), HIGH)


def exact_double(x: int, q: int, shift: int) -> int:
    high = exact_high_mul(wrapped(x * 2 ** max(shift, 0)), q)
    return half_away(Fraction(high, 2 ** max(-shift, 0)))


def exact_single(x: int, q: int, shift: int) -> int:
    return wrapped(half_up(Fraction(x * q, 2**31) * Fraction(2) ** shift))


class TestRoundHalfAway:
    def test_ties_go_away_from_zero(self) -> None:
        ties: np.ndarray = np.arange(-1000, 1000) + 0.5
        expected = [half_away(Fraction(tie)) for tie in ties]
        np.testing.assert_array_equal(round_half_away(ties), expected)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_next_to_a_tie(self, dtype: type) -> None:
        ties: np.ndarray = (np.arange(0, 4000) + 0.5).astype(dtype)
        below, above = np.nextafter(ties, dtype(0)), np.nextafter(ties, dtype(np.inf))
        np.testing.assert_array_equal(round_half_away(below), np.floor(ties))
        np.testing.assert_array_equal(round_half_away(above), np.ceil(ties))
        np.testing.assert_array_equal(round_half_away(-below), -np.floor(ties))
        assert round_half_away(below).dtype == dtype

    def test_values_too_large_for_a_fraction_stay(self) -> None:
        large = np.array([2.0**52 + 1, -(2.0**53), 1e300, np.inf, -np.inf])
        np.testing.assert_array_equal(round_half_away(large), large)

    @given(st.floats(-(2.0**60), 2.0**60))
    def test_any_double(self, value: float) -> None:
        assert int(round_half_away(value)) == half_away(Fraction(value))


class TestQuantizeMultiplier:
    @given(real_multipliers)
    def test_is_the_nearest_q31(self, real: float) -> None:
        q, shift = qmult(real)
        assert 2**30 <= q < 2**31
        # Half of the last bit of q, in units of the multiplier.
        assert abs(Fraction(real) - Fraction(q, 2**31) * Fraction(2) ** shift) <= (
            Fraction(1, 2**32) * Fraction(2) ** shift
        )

    @given(st.integers(2**30, 2**31 - 2), st.integers(-31, 30))
    def test_a_tie_rounds_up(self, q: int, shift: int) -> None:
        assert qmult(math.ldexp(2 * q + 1, shift - 32)) == (q + 1, shift)
        assert qmult(-math.ldexp(2 * q + 1, shift - 32)) == (-q - 1, shift)

    @pytest.mark.parametrize(
        ("real", "expected"),
        [
            # The figures of the framework's own unit test.
            (0.25, (1073741824, -1)),
            (0.5 - 5e-9, (2147483627, -1)),
            (0.5 - 1e-10, (1073741824, 0)),
            (1 - 1e-9, (2147483646, 0)),
            (1 + 1e-11, (1073741824, 1)),
            (1.75, (1879048192, 1)),
            (2 - 1e-9, (2147483647, 1)),
            (2 - 1e-11, (1073741824, 2)),
        ],
    )
    def test_table(self, real: float, expected: tuple[int, int]) -> None:
        assert qmult(real) == expected

    def test_zero_and_tiny(self) -> None:
        q, shift = quantize_multiplier([0.0, 2.0**-32, 2.0**-33, 1e-300])
        np.testing.assert_array_equal(q, [0, 2**30, 0, 0])
        np.testing.assert_array_equal(shift, [0, -31, 0, 0])

    def test_shift_is_decided_after_rounding(self) -> None:
        assert qmult(2.0**-32 * (1 - 2.0**-40)) == (2**30, -31)

    def test_arrays_keep_their_shape(self) -> None:
        q, shift = quantize_multiplier(np.full((2, 3), 0.3))
        assert q.shape == shift.shape == (2, 3)
        assert q.dtype == shift.dtype == np.int32
        q, shift = quantize_multiplier(0.3)
        assert isinstance(q, np.ndarray)
        assert q.shape == shift.shape == ()

    @pytest.mark.parametrize("bad", [math.nan, math.inf, [0.5, -math.inf]])
    def test_not_finite(self, bad: float) -> None:
        fails("finite", quantize_multiplier, bad)


class TestSaturatingRoundingDoublingHighMul:
    def test_corners_by_corners(self) -> None:
        values = corners()
        actual = saturating_rounding_doubling_high_mul(np.array(values)[:, None], values)
        expected = [[exact_high_mul(a, b) for b in values] for a in values]
        np.testing.assert_array_equal(actual, expected)
        assert actual.dtype == np.int32

    def test_random(self) -> None:
        a, b = random_int32(20_000, 1), random_int32(20_000, 2)
        expected = [exact_high_mul(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(saturating_rounding_doubling_high_mul(a, b), expected)


class TestRoundingDivideByPot:
    def test_dense_values_and_every_exponent(self) -> None:
        values = [*corners(), *random_int32(1000).tolist()]
        actual = rounding_divide_by_pot(values, np.arange(32)[:, None])
        expected = [[half_away(Fraction(x, 2**e)) for x in values] for e in range(32)]
        np.testing.assert_array_equal(actual, expected)
        assert actual.dtype == np.int32

    @pytest.mark.parametrize("exponent", [-1, 32])
    def test_exponent_out_of_range(self, exponent: int) -> None:
        fails(r"exponent must lie within 0\.\.31", rounding_divide_by_pot, 1, exponent)


class TestMultiplyByQuantizedMultiplier:
    @given(int32s, st.integers(2**30, HIGH), st.integers(-31, 31))
    def test_double(self, x: int, q: int, shift: int) -> None:
        assert multiply_by_quantized_multiplier(x, q, shift) == exact_double(x, q, shift)

    @given(int32s, st.integers(2**30, HIGH), st.integers(-31, 30))
    def test_single(self, x: int, q: int, shift: int) -> None:
        assert multiply_once(x, q, shift) == exact_single(x, q, shift)

    @pytest.mark.parametrize("shift", [-31, -30, -12, -1, 0, 1, 5, 30])
    def test_corners(self, shift: int) -> None:
        values = np.array(corners())
        for q in (2**30, 2**30 + 1, 1518500250, HIGH, 0, -(2**30)):
            double = multiply_by_quantized_multiplier(values, q, shift)
            single = multiply_once(values, q, shift)
            np.testing.assert_array_equal(double, [exact_double(int(x), q, shift) for x in values])
            np.testing.assert_array_equal(single, [exact_single(int(x), q, shift) for x in values])
            assert double.dtype == single.dtype == np.int32

    def test_double_and_single_differ_by_one_and_rarely(self) -> None:
        """So a test that passes within one does not show which of the two was implemented."""
        rng = np.random.default_rng(3)
        shares = []
        for real in rng.uniform(2.0**-9, 2.0**-5, 40):
            outputs = rng.normal(0, 45, 20_000)
            sums = np.rint(outputs / real).astype(np.int32)
            q, shift = quantize_multiplier(real)
            double = multiply_by_quantized_multiplier(sums, q, shift)
            single = multiply_once(sums, q, shift)
            assert np.abs(double - single).max() == 1
            shares.append((double != single).mean())
        assert 0.001 <= min(shares) <= max(shares) <= 0.025

    def test_per_channel(self) -> None:
        q, shift = quantize_multiplier([0.3, 0.004, 1.7])
        sums = random_int32(60).reshape(2, 2, 5, 3) >> 8
        for multiply in (multiply_by_quantized_multiplier, multiply_once):
            together = multiply(sums, q, shift)
            for channel in range(3):
                alone = multiply(sums[..., channel], q[channel], shift[channel])
                np.testing.assert_array_equal(together[..., channel], alone)

    @pytest.mark.parametrize("shift", [-32, 32])
    def test_shift_out_of_range(self, shift: int) -> None:
        fails("shift must lie within", multiply_by_quantized_multiplier, 1, 2**30, shift)

    def test_values_beyond_int32(self) -> None:
        fails("x must lie within", multiply_by_quantized_multiplier, 2**31, 2**30, 0)
        fails("x must be integers", multiply_by_quantized_multiplier, 1.5, 2**30, 0)


class TestScaledFloat32:
    @given(int32s, st.floats(2.0**-20, 1, width=32))
    def test_one_product_rounded_to_float32_then_half_to_even(self, x: int, scale: float) -> None:
        # float32(x) and scale have 24 bits each, so their float64 product is exact.
        product = np.float32(float(np.float32(x)) * scale)
        expected = min(max(round(Fraction(float(product))), LOW), HIGH)
        assert rescaled(x, scale) == expected

    def test_ties_go_to_even(self) -> None:
        odd = np.arange(-101, 102, 2, dtype=np.int32)
        expected = [round(Fraction(int(x), 2)) for x in odd]
        np.testing.assert_array_equal(rescaled(odd, 0.5), expected)

    def test_saturates(self) -> None:
        actual = rescaled([HIGH, LOW, 1, -1], [4.0, 4.0, 3e38, 3e38])
        np.testing.assert_array_equal(actual, [HIGH, LOW, HIGH, LOW])
        assert rescaled(HIGH, 1.0) == HIGH
        assert rescaled(HIGH, 3e38) == HIGH


class TestClampTo:
    @pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
    def test_saturates_to_the_dtype(self, dtype: str) -> None:
        info = np.iinfo(dtype)
        actual = clamp_to(np.array([-(2**40), info.min - 1, 0, info.max + 1, 2**40]), dtype)
        assert actual.dtype == dtype
        assert actual.tolist() == [info.min, info.min, 0, info.max, info.max]

    def test_narrower(self) -> None:
        assert clamp_to([-5, 3, 300], "uint8", 2, 200).tolist() == [2, 3, 200]
        assert clamp_to([-5, 300], "uint8", out_min=2).tolist() == [2, 255]
        assert clamp_to([-500, 300], "int8", out_max=6).tolist() == [-128, 6]

    @pytest.mark.parametrize(("low", "high"), [(-1, 5), (5, 256), (6, 5)])
    def test_range_does_not_fit(self, low: int, high: int) -> None:
        fails("within uint8", clamp_to, [0], "uint8", low, high)


class TestConvMultiplier:
    def test_uint8_rounds_the_product_and_int8_does_not(self) -> None:
        si, sw, so = (float(np.float32(value)) for value in (0.1, 0.003, 0.07))
        exact = Fraction(si) * Fraction(sw)
        assert conv_multiplier(si, sw, so, "int8") == float(exact) / so
        assert conv_multiplier(si, sw, so, "uint8") == float(np.float32(float(exact))) / so
        assert conv_multiplier(si, sw, so, "int8") != conv_multiplier(si, sw, so, "uint8")

    def test_per_channel(self) -> None:
        scales = [0.003, 0.5, 1e-4]
        actual = conv_multiplier(0.1, scales, 0.07, "int8")
        assert actual.shape == (3,)
        assert actual.dtype == np.float64
        assert actual.tolist() == [float(conv_multiplier(0.1, s, 0.07, "int8")) for s in scales]

    def test_bad(self) -> None:
        fails("kernel_dtype must be uint8 or int8", conv_multiplier, 0.1, 0.1, 0.1, "int16")
        fails("kernel_scale must be positive", conv_multiplier, 0.1, [0.1, -0.1], 0.1, "int8")


def test_products_of_int16_are_rounded_and_saturate() -> None:
    a = np.array([-(2**15), 2**14, 3, -3])
    assert high_mul_int16(a, a).tolist() == [2**15 - 1, 2**13, 0, 0]
    assert high_mul_int16(np.array([1, -1]), 2**14).tolist() == [1, 0]


def test_ties_of_int16_are_rounded_away_from_zero() -> None:
    assert divide_by_pot_int16(np.array([2, -2, 6, -6, 5]), 2).tolist() == [1, -1, 2, -2, 1]


def test_what_int16_does_not_hold_saturates() -> None:
    assert saturate_int16(np.array([40_000, -40_000, 7])).tolist() == [2**15 - 1, -(2**15), 7]


def test_a_multiplier_keeps_15_bits() -> None:
    # 0.5 and 0.75 are exact; what lies half way goes up; 1 less a little is not 2^15.
    q31 = [1 << 30, 3 << 29, (1 << 30) + (1 << 15), 2**31 - 1]
    assert reduced_multiplier(q31).tolist() == [1 << 14, 3 << 13, (1 << 14) + 1, 2**15 - 1]


def test_sums_beyond_32_bits_are_scaled_and_rounded_half_up() -> None:
    result = multiply_by_reduced_multiplier(np.array([3 << 40, 5, -5]), 1 << 30, [-20, -1, -1])
    # 0.5 * 2^-20 of the first; a quarter of 5 and of -5.
    assert result.tolist() == [3 << 19, 1, -1]
    assert multiply_by_reduced_multiplier(np.array([6, -6]), 1 << 30, -1).tolist() == [2, -1]
    assert multiply_by_reduced_multiplier(np.array([3]), 1 << 30, 14).tolist() == [3 << 13]


def test_results_beyond_32_bits_wrap() -> None:
    assert multiply_by_reduced_multiplier(np.array([1 << 33]), 1 << 30, 0).tolist() == [0]
    assert multiply_by_reduced_multiplier(np.array([1 << 32]), 1 << 30, 0).tolist() == [-(2**31)]


def test_a_shift_that_leaves_no_bits() -> None:
    with pytest.raises(QnnError, match="shift must be at most 14, got 15"):
        multiply_by_reduced_multiplier(np.array([1]), 1 << 30, 15)


def test_products_with_float64_round_half_away() -> None:
    result = scaled_float64(np.array([3 << 40, -5, 5, 2**50]), [2.0**-40, 0.5, 0.5, 1.0])
    assert result.tolist() == [3, -3, 3, 2**31 - 1]
