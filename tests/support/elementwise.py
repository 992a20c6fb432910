"""LiteRT as the oracle of the operators on two tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from qnn_ops.arithmetic.activations import activation_range
from qnn_ops.dialect.registry import Operator
from tests.support.arrays import full_range
from tests.support.litert import litert

Array = np.ndarray[Any, Any]

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
