from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given

from qnn_ops import QnnError, quantized_pool2d
from qnn_ops.dialect.windows import window_count
from tests.differential.layers import pool
from tests.support.cases import poolings
from tests.support.errors import failing
from tests.support.operators import module_of
from tests.support.steps import referred


def test_ties_to_even_by_hand() -> None:
    data = np.array([1, 2, -1, -2, 0, 1, 4, 5], np.int8).reshape(1, 1, 8, 1)
    attrs: dict[str, Any] = {"strides": (1, 2), "layout": "NHWC", "rounding": "half_even"}
    result = quantized_pool2d.evaluate(data, "avg", (1, 2), **attrs)
    # 3/2 -> 2, -3/2 -> -2, 1/2 -> 0, 9/2 -> 4.
    np.testing.assert_array_equal(result.ravel(), [2, -2, 0, 4])
    # Moved by 128, as they are where int8 becomes uint8, they round alike.
    moved = (data.astype(np.int16) + 128).astype(np.uint8)
    result = quantized_pool2d.evaluate(moved, "avg", (1, 2), **attrs, origin=128)
    np.testing.assert_array_equal(result.ravel(), [130, 126, 128, 132])


def test_padding_that_counts_is_the_origin() -> None:
    data = np.array([130, 140, 150], np.uint8).reshape(1, 1, 3, 1)
    attrs: dict[str, Any] = {"padding": (0, 1, 0, 1), "layout": "NHWC", "count_include_pad": True}
    result = quantized_pool2d.evaluate(data, "avg", (1, 3), **attrs)
    np.testing.assert_array_equal(result.ravel(), [90, 140, 97])
    result = quantized_pool2d.evaluate(data, "avg", (1, 3), **attrs, origin=128)
    np.testing.assert_array_equal(result.ravel(), [133, 140, 139])


test_equals_litert = referred(pool)


test_what_does_not_fit_is_named = failing(
    lambda change: module_of(
        quantized_pool2d,
        [np.zeros((1, 5, 5, 4), np.int8)],
        **{"pool_type": "max", "pool_size": 2, "layout": "NHWC", **change},
    ),
    ({"pool_type": "min"}, "pool_type must be one of max, avg, got 'min'"),
    ({"pool_size": (6, 2)}, "the window spans 6 pixels along the height, the padded data has 5"),
    ({"pool_size": 0}, "window, stride and dilation must be at least 1"),
    ({"strides": 0}, "window, stride and dilation must be at least 1"),
    ({"padding": (0, -1)}, "padding at least 0"),
    ({"padding": (0, 2)}, "covers nothing but padding along the width: padding is 2 and 2"),
    ({"pool_size": 3000, "padding": 2999}, "at most 8388608 taps"),
    ({"layout": "NWHC"}, "layout must be one of NHWC, NCHW"),
    ({"out_min": 3, "out_max": 2}, "out_min and out_max must be ordered"),
    ({"out_max": 300}, "within int8"),
)


test_data_that_does_not_fit_is_named = failing(
    lambda data: module_of(quantized_pool2d, [data], pool_type="max", pool_size=2),
    (np.zeros((1, 5, 5, 4), np.float32), "quantized_data must be int8 or uint8"),
    (np.zeros((5, 5, 4), np.int8), "quantized_data must have 4 dimensions"),
)


def test_window_count() -> None:
    assert window_count("width", 10, 3, 2, 1, 0, 0) == 4
    assert window_count("width", 10, 3, 2, 1, 1, 1) == 5
    assert window_count("width", 5, 3, 1, 2, 0, 0) == 1


@given(poolings())
def test_moving_data_and_origin_moves_the_result(case: tuple[list[Any], dict[str, Any]]) -> None:
    (data,), attrs = case
    assume(data.dtype == np.int8)
    attrs = {"origin": 0, **attrs}
    moved = {
        name: value + 128 if name in ("out_min", "out_max", "origin") else value
        for name, value in attrs.items()
    }
    result = quantized_pool2d.evaluate(data, **attrs).astype(np.int64)
    unsigned = quantized_pool2d.evaluate((data.astype(np.int64) + 128).astype(np.uint8), **moved)
    np.testing.assert_array_equal(unsigned, result + 128)


@pytest.mark.parametrize("origin", [-1, 256])
def test_an_origin_outside_the_dtype_is_refused(origin: int) -> None:
    with pytest.raises(QnnError, match=f"origin must lie within uint8, got {origin}"):
        quantized_pool2d.evaluate(np.zeros((1, 2, 2, 1), np.uint8), "avg", 2, origin=origin)
