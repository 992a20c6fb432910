from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import quantized_add
from tests.support.elementwise import check_against_litert, sum_scales


def test_by_hand() -> None:
    lhs, rhs = np.array([1, 2, 3, -128], np.int8), np.array([10, 10, 10, -128], np.int8)
    result = quantized_add.evaluate(lhs, rhs, 0.5, 1, 0.25, 2, 1.0, 10, "int8")
    # 0.5 * [0, 1, 2, -129] + 0.25 * [8, 8, 8, -130] = [2, 2.5, 3, -97], ties away from zero.
    np.testing.assert_array_equal(result, np.array([12, 13, 13, -87], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert(dtype: str) -> None:
    check_against_litert(quantized_add, "ADD", dtype, sum_scales(0, 40), seed=1)
