from fractions import Fraction

import numpy as np
import pytest

from qnn_ops.arithmetic.fixed_point import requantize_float64
from qnn_ops.arithmetic.rounding import ROUNDINGS, check_multiplier, scale_down
from tests.support.errors import fails

INT32 = np.iinfo(np.int32)
FULL = (int(INT32.min), int(INT32.max))


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        # A quarter needs a right shift of one: gemmlowp's first rounding gives halves (half
        # up), its second integers (half away from zero). So even 1/4 becomes 1.
        ("tflite", [-2, -1, -1, 0, 0, 1, 1, 1, 2]),
        ("upward", [-1, -1, 0, 0, 0, 0, 1, 1, 2]),
        ("float32", [-2, -1, 0, 0, 0, 0, 0, 1, 2]),
        ("float64", [-2, -1, -1, 0, 0, 0, 1, 1, 2]),
    ],
)
def test_each_rounding_of_quarters_by_hand(rounding: str, expected: list[int]) -> None:
    accumulator = np.array([-6, -4, -2, -1, 0, 1, 2, 4, 6], np.int32)
    result = scale_down(accumulator, np.array(0.25), rounding, 0, FULL, "int32")
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_each_rounding_is_near_the_exact_product(rounding: str) -> None:
    rng = np.random.default_rng(1)
    accumulator = rng.integers(-(2**24), 2**24, 2000, dtype=np.int32)
    multiplier = rng.uniform(1e-6, 1e-3)
    result = scale_down(accumulator, np.array(multiplier), rounding, 0, FULL, "int32")
    exact = [int(value) * Fraction(multiplier) for value in accumulator]
    # Half a step, and what float32, a 31-bit multiplier or a first rounding may add.
    assert all(abs(int(a) - b) <= Fraction(51, 100) for a, b in zip(result, exact, strict=True))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_the_clamp_comes_after_the_zero_point(rounding: str) -> None:
    accumulator = np.array([-1000, -10, 0, 10, 1000], np.int32)
    result = scale_down(accumulator, np.array(1.0), rounding, 5, (-3, 12), "int8")
    np.testing.assert_array_equal(result, np.array([-3, -3, 5, 12, 12], np.int8))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_multipliers_broadcast(rounding: str) -> None:
    accumulator = np.full((2, 3), 64, np.int32)
    multiplier = np.array([0.5, 0.25, 2.0])
    result = scale_down(accumulator, multiplier, rounding, 0, (0, 255), "uint8")
    np.testing.assert_array_equal(result, np.array([[32, 16, 128]] * 2, np.uint8))


def test_float64_keeps_what_float32_and_31_bits_lose() -> None:
    value = np.array([100_000_003], np.int32)
    # One part in 10^9 above the tie 50.5: neither other representation sees it.
    multiplier = np.array(50.5 / 100_000_003 * (1 + 1e-10))
    below = np.array(50.5 / 100_000_003 * (1 - 1e-10))
    assert scale_down(value, multiplier, "float64", 0, FULL, "int32") == 51
    assert scale_down(value, below, "float64", 0, FULL, "int32") == 50
    same = [scale_down(value, m, "upward", 0, FULL, "int32").item() for m in (multiplier, below)]
    assert same[0] == same[1]


def test_float64_saturates_and_wants_finite_scales() -> None:
    values = np.array([INT32.min, -1, 0, 1, INT32.max], np.int32)
    np.testing.assert_array_equal(
        requantize_float64(values, 1e300), [INT32.min, INT32.min, 0, INT32.max, INT32.max]
    )
    np.testing.assert_array_equal(requantize_float64(values, 1.0), values)
    fails("scale must be finite, got inf", requantize_float64, values, np.inf)


@pytest.mark.parametrize(
    ("rounding", "largest", "too_large"),
    [
        ("tflite", 2.0**30.99, 2.0**31),
        ("upward", 2.0**29.99, 2.0**30),
        ("float32", 3.4e38, 3.5e38),
        ("float64", 1e308, float("inf")),
    ],
)
def test_multipliers_that_the_arithmetic_cannot_take_are_named(
    rounding: str, largest: float, too_large: float
) -> None:
    check_multiplier(largest, rounding)
    check_multiplier(np.array([1e-30, largest]), rounding)
    for multiplier in (too_large, np.array([1.0, too_large])):
        fails(f"too many for rounding '{rounding}'", check_multiplier, multiplier, rounding)
