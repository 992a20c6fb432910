"""Quantized operators on two tensors: sum, difference, product, squared difference and PReLU."""

from typing import Any

import numpy as np
import pytest
from tvm import relax

from frontends.tflite.quantization import Quantization
from qnn_ops import (
    quantized_add,
    quantized_multiply,
    quantized_prelu,
    quantized_squared_difference,
    quantized_subtract,
)
from qnn_ops.arithmetic.activations import activation_range
from qnn_ops.arithmetic.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.arrays import Array
from qnn_ops.dialect.overflow import check_overflow
from qnn_ops.dialect.registry import Operator
from tests.support.arrays import full_range
from tests.support.errors import fails
from tests.support.litert import litert

SHAPES = [
    ((2, 5, 3, 4), (2, 5, 3, 4)),
    ((2, 5, 3, 4), (1, 1, 1, 4)),
    ((2, 5, 1, 4), (2, 1, 3, 1)),
    ((3, 4), (2, 3, 4)),
    ((6, 7), (1,)),
    ((), (5, 2)),
]


def check_against_litert(
    operator: Operator[Any], code: str, dtype: str, scales: Array, seed: int
) -> None:
    """Assert that the reference equals LiteRT on ``scales`` ([cases, 3]), zero points at random.

    Every case runs all 65536 pairs of values (broadcast from a column and a row), and random
    values of broadcasting shapes with a fused activation.
    """
    rng = np.random.default_rng(seed)
    every = np.arange(256).astype(np.uint8).view(dtype)
    for index, case in enumerate(np.asarray(scales, np.float32)):
        lhs_q, rhs_q, out_q = (
            Quantization.per_tensor(float(scale), int(full_range(rng, dtype, ()))) for scale in case
        )
        left, right = SHAPES[index % len(SHAPES)]
        kind = ["none", "relu", "relu6", "relu_n1_to_1"][index % 4]
        for lhs, rhs, activation in (
            (every.reshape(256, 1), every.reshape(1, 256), "none"),
            (full_range(rng, dtype, left), full_range(rng, dtype, right), kind),
        ):
            low, high = activation_range(
                activation, float(case[2]), int(out_q.zero_point[0]), dtype
            )
            result = operator.evaluate(
                lhs,
                rhs,
                float(case[0]),
                int(lhs_q.zero_point[0]),
                float(case[1]),
                int(rhs_q.zero_point[0]),
                float(case[2]),
                int(out_q.zero_point[0]),
                dtype,
                out_min=low,
                out_max=high,
            )
            expected = litert(
                code,
                [(lhs, lhs_q), (rhs, rhs_q)],
                (result.shape, dtype, out_q),
                fused_activation_function=activation.upper(),
            )
            np.testing.assert_array_equal(result, expected)


def sum_scales(seed: int, count: int) -> Array:
    """Scales of sums whose results fill their range; every third case powers of two."""
    rng = np.random.default_rng(seed)
    exponents = rng.uniform(-10, 3, (count, 3))
    exponents[:, 2] = exponents[:, :2].max(axis=1) + rng.uniform(-1, 3, count)
    exponents[::3] = np.round(exponents[::3])
    exponents[::7, 1] = exponents[::7, 0]  # equal scales
    return 2.0**exponents


def product_scales(seed: int, count: int) -> Array:
    """Scales of products whose results fill their range; every third case powers of two."""
    rng = np.random.default_rng(seed)
    exponents = rng.uniform(-10, 3, (count, 3))
    exponents[:, 2] = exponents[:, :2].sum(axis=1) + rng.uniform(2, 9, count)
    exponents[::3] = np.round(exponents[::3])
    return 2.0**exponents


def test_by_hand() -> None:
    lhs, rhs = np.array([1, 2, 3, -128], np.int8), np.array([10, 10, 10, -128], np.int8)
    result = quantized_add.evaluate(lhs, rhs, 0.5, 1, 0.25, 2, 1.0, 10, "int8")
    # 0.5 * [0, 1, 2, -129] + 0.25 * [8, 8, 8, -130] = [2, 2.5, 3, -97], ties away from zero.
    np.testing.assert_array_equal(result, np.array([12, 13, 13, -87], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert(dtype: str) -> None:
    check_against_litert(quantized_add, "ADD", dtype, sum_scales(0, 40), seed=1)


def test_by_hand_of_quantized_subtract() -> None:
    lhs, rhs = np.array([1, 2, 3, -128], np.int8), np.array([10, 10, 10, 127], np.int8)
    result = quantized_subtract.evaluate(lhs, rhs, 0.5, 1, 0.25, 2, 1.0, 10, "int8")
    # 0.5 * [0, 1, 2, -129] - 0.25 * [8, 8, 8, 125] = [-2, -1.5, -1, -95.75], ties away from zero.
    np.testing.assert_array_equal(result, np.array([8, 8, 9, -86], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert_of_quantized_subtract(dtype: str) -> None:
    check_against_litert(quantized_subtract, "SUB", dtype, sum_scales(0, 40), seed=1)


def test_by_hand_of_quantized_multiply() -> None:
    lhs, rhs = np.array([2, 3, 4, 127], np.int8), np.array([5, -5, 10, 127], np.int8)
    result = quantized_multiply.evaluate(lhs, rhs, 0.5, 1, 0.5, 2, 0.5, 10, "int8")
    # 0.5 * [1 * 3, 2 * -7, 3 * 8, 126 * 125] = [1.5, -7, 12, ...], ties away from zero.
    np.testing.assert_array_equal(result, np.array([12, 3, 22, 127], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert_of_quantized_multiply(dtype: str) -> None:
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


def test_by_hand_of_quantized_squared_difference() -> None:
    lhs, rhs = np.array([3, -4, 127], np.int8), np.array([1, 4, -128], np.int8)
    result = quantized_squared_difference.evaluate(lhs, rhs, 0.5, 0, 0.5, 0, 1.0, -1, "int8")
    np.testing.assert_array_equal(result, np.array([0, 15, 127], np.int8))


def test_equals_litert_of_quantized_squared_difference() -> None:
    rng = np.random.default_rng(4)
    every = np.arange(256).astype(np.uint8).view("int8")
    exponents = rng.uniform(-8, 2, (30, 3))
    exponents[:, 2] = 2 * exponents[:, :2].max(axis=1) + rng.uniform(-4, 9, 30)
    exponents[::3] = np.round(exponents[::3])
    for scales in (2.0**exponents).astype(np.float32):
        encodings = [
            Quantization.per_tensor(float(scale), int(full_range(rng, "int8", ())))
            for scale in scales
        ]
        arrays = (every.reshape(256, 1), every.reshape(1, 256))
        numbers = [n for q in encodings for n in (float(q.scale[0]), int(q.zero_point[0]))]
        result = quantized_squared_difference.evaluate(*arrays, *numbers, "int8")
        operands = list(zip(arrays, encodings[:2], strict=True))
        expected = litert("SQUARED_DIFFERENCE", operands, ((256, 256), "int8", encodings[2]))
        np.testing.assert_array_equal(result, expected)


def test_results_too_fine_for_tflite() -> None:
    x = relax.Var("x", relax.TensorType((2,), "int8"))
    for output_scale, fits in ((2.0**-13, True), (2.0**-14, False)):
        call = quantized_squared_difference(x, x, 0.5, 0, 0.25, 0, output_scale, 0, "int8")
        call = relax.BlockBuilder().normalize(call)
        if fits:
            check_overflow(call, {})
        else:
            fails("multiplier below 1", check_overflow, call, {})


def test_by_hand_of_quantized_prelu() -> None:
    data, slopes = np.array([5, -3, 1], np.int8), np.array([3, 3, 3], np.int8)
    result = quantized_prelu.evaluate(data, slopes, 0.5, 1, 0.25, 1, 0.5, 10, "int8")
    # 2.0 stays; -2.0 times 0.5; 0.
    np.testing.assert_array_equal(result, np.array([14, 8, 10], np.int8))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_equals_litert_of_quantized_prelu(dtype: str) -> None:
    rng = np.random.default_rng(4)
    every = np.arange(256).astype(np.uint8).view(dtype)
    for scales in product_scales(5, 30).astype(np.float32):
        encodings = [
            Quantization.per_tensor(float(scale), int(full_range(rng, dtype, ())))
            for scale in scales
        ]
        data = np.repeat(every.reshape(256, 1), 256, axis=1)
        arrays = (data, every.reshape(1, 256))
        numbers = [n for q in encodings for n in (float(q.scale[0]), int(q.zero_point[0]))]
        result = quantized_prelu.evaluate(*arrays, *numbers, dtype)
        operands = list(zip(arrays, encodings[:2], strict=True))
        expected = litert("PRELU", operands, (data.shape, dtype, encodings[2]))
        np.testing.assert_array_equal(result, expected)
