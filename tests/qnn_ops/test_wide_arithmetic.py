from __future__ import annotations

import pytest

from qnn_ops import QnnError
from qnn_ops.wide_arithmetic import (
    multiply_by_reduced_multiplier,
    reduced_multiplier,
    requantize_wide_float64,
)


def test_a_multiplier_keeps_15_bits() -> None:
    # 0.5 and 0.75 are exact; what lies half way goes up; 1 less a little is not 2^15.
    q31 = [1 << 30, 3 << 29, (1 << 30) + (1 << 15), 2**31 - 1]
    assert reduced_multiplier(q31).tolist() == [1 << 14, 3 << 13, (1 << 14) + 1, 2**15 - 1]


def test_sums_beyond_32_bits_are_scaled_and_rounded_half_up() -> None:
    result = multiply_by_reduced_multiplier([3 << 40, 5, -5], 1 << 30, [-20, -1, -1])
    # 0.5 * 2^-20 of the first; a quarter of 5 and of -5.
    assert result.tolist() == [3 << 19, 1, -1]
    assert multiply_by_reduced_multiplier([6, -6], 1 << 30, -1).tolist() == [2, -1]
    assert multiply_by_reduced_multiplier([3], 1 << 30, 14).tolist() == [3 << 13]


def test_results_beyond_32_bits_wrap() -> None:
    assert multiply_by_reduced_multiplier([1 << 33], 1 << 30, 0).tolist() == [0]
    assert multiply_by_reduced_multiplier([1 << 32], 1 << 30, 0).tolist() == [-(2**31)]


def test_a_shift_that_leaves_no_bits() -> None:
    with pytest.raises(QnnError, match="shift must be at most 14, got 15"):
        multiply_by_reduced_multiplier([1], 1 << 30, 15)


def test_products_with_float64_round_half_away() -> None:
    result = requantize_wide_float64([3 << 40, -5, 5, 2**50], [2.0**-40, 0.5, 0.5, 1.0])
    assert result.tolist() == [3, -3, 3, 2**31 - 1]
