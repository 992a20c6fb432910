from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import quantized_subtract
from tests.support.elementwise import check_against_litert, sum_scales


def test_by_hand() -> None:
    lhs, rhs = np.array([1, 2, 3, -128], np.int8), np.array([10, 10, 10, 127], np.int8)
    result = quantized_subtract.evaluate(lhs, rhs, 0.5, 1, 0.25, 2, 1.0, 10, "int8")
    # 0.5 * [0, 1, 2, -129] - 0.25 * [8, 8, 8, 125] = [-2, -1.5, -1, -95.75], ties away from zero.
    np.testing.assert_array_equal(result, np.array([8, 8, 9, -86], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert(dtype: str) -> None:
    check_against_litert(quantized_subtract, "SUB", dtype, sum_scales(0, 40), seed=1)
