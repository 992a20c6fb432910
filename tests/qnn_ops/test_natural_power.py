"""By hand; tests/frontends/tflite/converters/test_powers.py compares with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError, natural_power
from tests.support.operators import module_of

LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (-1, [3, -2, 65536]),
        (1, [3, -2, 65536]),
        (2, [9, 4, 0]),
        (3, [27, -8, 0]),
        (20, [3**20 - 2**32 + 2**31 - 2**31, 2**20, 0]),
        (31, [(3**31 + 2**31) % 2**32 - 2**31, -(2**31), 0]),
    ],
)
def test_integers_wrap(exponent: int, expected: list[int]) -> None:
    data = np.array([3, -2, 65536], np.int32)
    result = natural_power.evaluate(data, np.array([exponent], np.int32))
    assert result.tolist() == [(each + 2**31) % 2**32 - 2**31 for each in expected]


def test_each_product_of_float32_ends_at_the_largest_number() -> None:
    data = np.array([-1e30, np.inf, np.nan, 1.5], np.float32)
    result = natural_power.evaluate(data, np.array([3], np.int32))
    np.testing.assert_array_equal(result, np.array([-LARGEST, LARGEST, np.nan, 3.375], np.float32))
    np.testing.assert_array_equal(natural_power.evaluate(data, np.array([1], np.int32)), data)


def test_operands_must_fit() -> None:
    data, exponent = np.zeros(3, np.int32), np.array([2], np.int32)
    with pytest.raises(QnnError, match=r"exponent must have shape \(1,\), got \(2,\)"):
        module_of(natural_power, [data, np.array([2, 3], np.int32)])
    with pytest.raises(QnnError, match="data must be"):
        module_of(natural_power, [data.astype(np.int64), exponent])
