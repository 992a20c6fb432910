"""Sums that are 64 bits wide, of products of int16 data, and how they are scaled."""

from typing import Any

import numpy as np
import pytest
from tvm import relax

from qnn_ops import quantized_dense
from qnn_ops.arithmetic.fixed_point import (
    multiply_by_reduced_multiplier,
    reduced_multiplier,
    scaled_float64,
)
from qnn_ops.arithmetic.sums import is_wide
from qnn_ops.dialect.overflow import check_overflow
from qnn_ops.errors import QnnError
from tests.support.encodings import encodings
from tests.support.errors import failing, fails


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


ATTRS = encodings(input=(0.5, 0), kernel=(0.25, 0), output=(2.0**20, 0), out_dtype="int16")


def dense(depth: int, bias: Any = None, **changes: Any) -> np.ndarray[Any, Any]:
    data, weights = np.full((1, depth), -32768, np.int16), np.full((1, depth), -127, np.int8)
    return quantized_dense.evaluate(data, weights, bias=bias, **{**ATTRS, **changes})


def test_the_bias_says_how_wide_sums_are() -> None:
    assert is_wide("int16", None)
    assert is_wide("int16", "int64")
    assert not is_wide("int16", "int32")
    assert not is_wide("int8", None)


def test_sums_are_64_bits_wide_unless_the_bias_is_int32() -> None:
    # 600 * 32768 * 127 is 2^31 and a little more.
    exact = 600 * 32768 * 127
    assert dense(600).tolist() == [[round(exact / 2**23)]]
    assert dense(600, np.zeros(1, np.int64), rounding="reduced").tolist() == [[298]]
    assert dense(600, np.zeros(1, np.int32)).tolist() == [[round((exact - 2**32) / 2**23)]]


test_what_does_not_go_together = failing(
    lambda bias, changes: dense(4, bias, **changes),
    (None, {"rounding": "tflite"}, "the rounding of 64-bit sums must be one of reduced, float"),
    (np.zeros(1, np.int32), {"rounding": "reduced"}, "'reduced' needs int16 data"),
    (np.zeros(1, np.int16), {}, "bias must be int32 or int64, got int16"),
    (None, {"out_dtype": "int8"}, "out_dtype beside int16 must be int16, got int8"),
    (None, {"input_zero_point": 1}, "input_zero_point must be 0 for int16, got 1"),
)


def test_sums_that_tflite_does_not_define() -> None:
    data = relax.Var("x", relax.TensorType((1, 4), "int16"))
    weights = relax.const(np.ones((1, 4), np.int8))

    def check(bias: int, **changes: Any) -> str:
        each = relax.const(np.array([bias], np.int64), "int64")
        call = quantized_dense(data, weights, bias=each, **{**ATTRS, **changes})
        return check_overflow(relax.BlockBuilder().normalize(call), {})

    assert check(2**46) == ""
    fails(r"sums can reach \d+, TFLite defines them below 2\^47", check, 2**47)
    fails("scaled, can reach", check, 2**40, output_scale=1e-3)
    fails("scaled, can reach", check, 2**40, output_scale=0.25)  # by a half
