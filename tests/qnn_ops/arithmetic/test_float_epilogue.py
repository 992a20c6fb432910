"""oneDNN's float32 scaling: roundings one by one, against exact arithmetic."""

from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qnn_ops.arithmetic.float_epilogue import (
    float_epilogue,
    fused_multiply_add_float32,
    round_to,
    scale_in_float32,
)
from qnn_ops.dialect.registry import Attrs

FLOATS = st.floats(-(2.0**50), 2.0**50, width=32, allow_subnormal=False)


def nearest_float32(exact: Fraction) -> np.float32:
    """Return the float32 nearest to a number, the even one of two: decided in exact arithmetic."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(sign)) for sign in (-np.inf, np.inf)]
    return min(
        (guess, *around),
        key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(np.int32)) & 1),
    )


@settings(deadline=None, max_examples=300)
@given(FLOATS, FLOATS, FLOATS)
def test_a_fused_multiply_add_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    # Where float32 is even spaced: subnormal results have another rule for their last bit.
    assume(exact == 0 or abs(exact) > 1e-30)
    assert fused_multiply_add_float32(a, b, c) == nearest_float32(exact)


def test_a_sum_that_float64_would_round_to_a_tie() -> None:
    # 1 + 2^-24 is a tie of float32; what lies above it decides, and is lost in a float64 sum.
    a, b = np.float32(2.0**-24), np.float32(1 + 2.0**-23)
    c = np.float32(1 + 2.0**-23)
    tie = Fraction(float(c)) + Fraction(2) ** -24
    assert nearest_float32(tie) == np.float32(1 + 2.0**-22)
    small = np.float32(2.0**-30)
    big = np.float32(2.0**30 + 2**7)
    exact = Fraction(float(big)) * Fraction(float(small)) + Fraction(2) ** -40
    assert fused_multiply_add_float32(big, small, 2.0**-40) == nearest_float32(exact)
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    assert fused_multiply_add_float32(a, b, c) == nearest_float32(exact)


def test_it_is_not_a_product_that_is_rounded_and_a_sum() -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 10_000)).astype(np.float32)
    assert (fused_multiply_add_float32(a, b, c) != a * b + c).mean() > 0.1


def test_infinities_stay_and_zeros_are_exact() -> None:
    values = fused_multiply_add_float32([np.inf, 0.0, 3.0], [1.0, 5.0, 2.0], [1.0, 0.0, -6.0])
    np.testing.assert_array_equal(values, [np.inf, 0.0, 0.0])


def test_the_bias_is_added_in_float32() -> None:
    attrs = Attrs(out_dtype="int32", out_min=-(2**31), out_max=2**31 - 1)
    sums = float_epilogue(
        attrs, np.array([2**24 + 1, 2**24 + 3, 5]), np.array([1, 1, -7]), np.float32(1)
    )
    # 2^24 + 1 is rounded to even before the bias is added, and the sum to even again.
    np.testing.assert_array_equal(sums, [2**24, 2**24 + 4, -2])


def test_the_rectifier_comes_before_the_addend() -> None:
    sums = np.array([-10.0, 10.0], np.float32)
    addend = np.array([4, 4])
    result = scale_in_float32(sums, 0.5, addend, 2.0, relu_before_addend=True)
    np.testing.assert_array_equal(result, [8.0, 13.0])
    np.testing.assert_array_equal(scale_in_float32(sums, 0.5, addend, 2.0), [3.0, 13.0])


def test_results_round_half_to_even_before_the_zero_point_and_saturate() -> None:
    values = np.array([0.5, 1.5, -0.5, 1e30, -np.inf], np.float32)
    np.testing.assert_array_equal(
        round_to(values, 1, (-128, 127), "int8"), np.array([1, 3, 1, 127, -128], np.int8)
    )
