"""The fixed-point arithmetic of a quantized softmax, in numpy."""

import numpy as np
import pytest

from qnn_ops.tables.softmax import (
    exp_on_negative_values,
    exp_table,
    exp_table_int16,
    probabilities_int16,
    reciprocal,
    reciprocal_table_int16,
    sum_term,
)


def test_exp_is_close_to_exp() -> None:
    rng = np.random.default_rng(0)
    steps = -np.concatenate([np.arange(2000), rng.integers(0, 31 * 2**26, 50000)])
    # The fixed-point polynomial is off by 1e-7 or so, its products by a few 2^-31.
    np.testing.assert_allclose(
        exp_on_negative_values(steps) / 2**31, np.exp(steps / 2**26), rtol=0, atol=3e-7
    )


def test_exp_at_zero_is_the_largest_value() -> None:
    assert exp_on_negative_values(0) == 2**31 - 1
    assert exp_on_negative_values(-1) < 2**31 - 1


@pytest.mark.parametrize("scale", [2.0**-30, 1e-4, 0.01, 1 / 16, 0.1, 0.7, 4.0, 31.0, 1e6])
def test_table_holds_every_difference(scale: float) -> None:
    table = exp_table(scale, 0.5)
    exact = np.exp(-np.arange(256) * scale * 0.5)
    assert table.dtype == np.int32
    # What is left out below exp(-15.5) or so is below this as well.
    np.testing.assert_allclose(table / 2**31, exact, rtol=0, atol=5e-7)
    assert (np.diff(table) <= 0).all()


def test_differences_beyond_31_are_left_out() -> None:
    # The multiplier of a scale of 1 is 2^26 = 1/2 * 2^27, so differences beyond 31 * 2^26 / 2^27
    # count for nothing: half of the distance that Q5.26 could express.
    table = exp_table(1.0, 1.0)
    assert table[15] > 0
    assert (table[16:] == 0).all()


def test_reciprocal_is_close_to_one_over() -> None:
    rng = np.random.default_rng(0)
    powers = 2 ** np.arange(19, 31)
    totals = np.concatenate([powers, powers + 1, 2 * powers - 1, rng.integers(2**19, 2**31, 50000)])
    fraction, bits = reciprocal(totals)
    assert (fraction >= 2**30 - 16).all()
    assert (fraction < 2**31).all()
    np.testing.assert_array_equal(bits, [int(total).bit_length() - 20 for total in totals])
    np.testing.assert_allclose(fraction / 2.0**31 / 2.0**bits, 2.0**19 / totals, rtol=1e-8, atol=0)


def test_sum_terms_count_in_12_19() -> None:
    np.testing.assert_array_equal(
        sum_term([2**31 - 1, 2**30, 2**11, 2**11 - 1]), [2**19, 2**18, 1, 0]
    )


def test_exponentials_are_near_the_function_down_to_that_of_minus_10() -> None:
    table = exp_table_int16(1e-3, 0.5) * 2.0**-15
    wanted = np.exp(-np.minimum(np.arange(2**16) * 5e-4, 10))
    assert np.abs(table - wanted).max() < 5e-4
    assert table[0] < 1


def test_reciprocals() -> None:
    x = np.arange(2**16) / (2**16 - 1)
    assert np.abs(reciprocal_table_int16() * 2.0**-15 - 1 / (1 + x)).max() < 1e-4


def test_probabilities_add_up_to_about_one() -> None:
    exponentials = np.array([[32767, 32767, 0, 16384]], np.int32)
    total = exponentials.sum(axis=1, keepdims=True, dtype=np.int64)
    result = probabilities_int16(exponentials, total)
    assert result.dtype == np.int16
    np.testing.assert_allclose(result * 2.0**-15, exponentials / total, atol=1e-4)
