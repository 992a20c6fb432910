"""Quantized operators on two tensors: sum, difference, product, squared difference and PReLU."""

from collections.abc import Callable
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
DTYPES = ("int8", "uint8")


def check_against_litert(
    operator: Operator[Any], code: str, dtype: str, scales: Array, seed: int
) -> None:
    """Assert that the reference equals LiteRT on ``scales`` ([cases, 3]), zero points at random.

    Every case runs all 65536 pairs of values. An operator that has a fused activation also runs
    random values of broadcasting shapes, with one.
    """
    rng = np.random.default_rng(seed)
    every = np.arange(256).astype(np.uint8).view(dtype)
    pairs = np.repeat(every.reshape(256, 1), 256, axis=1), every.reshape(1, 256)
    for index, case in enumerate(np.asarray(scales, np.float32).tolist()):
        points = full_range(rng, dtype, (3,)).tolist()
        encodings = [Quantization.per_tensor(*each) for each in zip(case, points, strict=True)]
        numbers = [number for each in zip(case, points, strict=True) for number in each]
        tried = [(pairs, "none")]
        options: dict[str, Any] = {}
        if code in ("ADD", "SUB", "MUL"):
            left, right = (full_range(rng, dtype, shape) for shape in SHAPES[index % len(SHAPES)])
            kind = ["none", "relu", "relu6", "relu_n1_to_1"][index % 4]
            tried.append(((left, right), kind))
        for operands, activation in tried:
            if len(tried) > 1:
                options["fused_activation_function"] = activation.upper()
            low, high = activation_range(activation, case[2], points[2], dtype)
            result = operator.evaluate(*operands, *numbers, dtype, out_min=low, out_max=high)
            expected = litert(
                code,
                list(zip(operands, encodings[:2], strict=True)),
                (result.shape, dtype, encodings[2]),
                **options,
            )
            np.testing.assert_array_equal(result, expected)


def random_scales(
    seed: int, count: int, sizes: Callable[[Array], Array], rest: tuple[float, float]
) -> Array:
    """Return scales of operands, and of results that fill their range.

    Every third case has powers of two. ``sizes`` are those of the results, as exponents of two,
    but for a number from ``rest``.
    """
    rng = np.random.default_rng(seed)
    exponents = rng.uniform(-10, 3, (count, 3))
    exponents[:, 2] = sizes(exponents[:, :2]) + rng.uniform(*rest, count)
    exponents[::3] = np.round(exponents[::3])
    return 2.0**exponents


def product_scales(seed: int, count: int) -> Array:
    return random_scales(seed, count, lambda operands: operands.sum(axis=1), (2, 9))


SUMS = random_scales(0, 40, lambda operands: operands.max(axis=1), (-1, 3))
SUMS[::7, 1] = SUMS[::7, 0]  # equal scales
SQUARES = random_scales(4, 30, lambda operands: 2 * operands.max(axis=1), (-4, 9))


@pytest.mark.parametrize(
    ("operator", "code", "dtype", "scales"),
    [
        *((quantized_add, "ADD", dtype, SUMS) for dtype in DTYPES),
        *((quantized_subtract, "SUB", dtype, SUMS) for dtype in DTYPES),
        *((quantized_multiply, "MUL", dtype, product_scales(0, 40)) for dtype in DTYPES),
        *((quantized_prelu, "PRELU", dtype, product_scales(5, 30)) for dtype in DTYPES),
        (quantized_squared_difference, "SQUARED_DIFFERENCE", "int8", SQUARES),
    ],
)
def test_equals_litert(operator: Operator[Any], code: str, dtype: str, scales: Array) -> None:
    check_against_litert(operator, code, dtype, scales, seed=1)


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


def test_results_too_fine_for_tflite() -> None:
    x = relax.Var("x", relax.TensorType((2,), "int8"))
    for output_scale, fits in ((2.0**-13, True), (2.0**-14, False)):
        call = quantized_squared_difference(x, x, 0.5, 0, 0.25, 0, output_scale, 0, "int8")
        call = relax.BlockBuilder().normalize(call)
        if fits:
            check_overflow(call, {})
        else:
            fails("multiplier below 1", check_overflow, call, {})
