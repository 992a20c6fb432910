from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qnn_ops import quantized_multiply
from qnn_ops.arithmetic import multiply_by_quantized_multiplier, quantize_multiplier
from tests.support.elementwise import check_against_litert, product_scales


def test_by_hand() -> None:
    lhs, rhs = np.array([2, 3, 4, 127], np.int8), np.array([5, -5, 10, 127], np.int8)
    result = quantized_multiply.evaluate(lhs, rhs, 0.5, 1, 0.5, 2, 0.5, 10, "int8")
    # 0.5 * [1 * 3, 2 * -7, 3 * 8, 126 * 125] = [1.5, -7, 12, ...], ties away from zero.
    np.testing.assert_array_equal(result, np.array([12, 3, 22, 127], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert(dtype: str) -> None:
    check_against_litert(quantized_multiply, "MUL", dtype, product_scales(0, 40), seed=1)


def test_multiplier_is_rounded_to_float32_at_each_step() -> None:
    # These scales tell the three ways to compute it apart on some of the 65536 products.
    scales = product_scales(2, 400)
    told_apart = [s for s in list[Any](scales.astype(np.float32)) if _differs(s)]
    assert len(told_apart) >= 5
    check_against_litert(quantized_multiply, "MUL", "uint8", np.array(told_apart), seed=3)


def _differs(scales: np.ndarray[Any, Any]) -> bool:
    products = np.arange(1, 256) * np.arange(1, 256)[:, None]
    float32 = multiply_by_quantized_multiplier(
        products, *quantize_multiplier(float(scales[0] * scales[1] / scales[2]))
    )
    float64 = multiply_by_quantized_multiplier(
        products, *quantize_multiplier(float(scales[0] * scales[1]) / float(scales[2]))
    )
    return bool((float32 != float64).any())
