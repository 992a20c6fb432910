"""Sums that are 64 bits wide, of products of int16 data, and how they are scaled."""

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops import quantized_dense
from qnn_ops.arithmetic.sums import is_wide
from qnn_ops.dialect.overflow import check_overflow
from tests.support.encodings import encodings
from tests.support.errors import failing, fails

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
