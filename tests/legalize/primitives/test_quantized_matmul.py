from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import quantized_matmul
from tests.support.arrays import full_range
from tests.support.operators import check_operator


@pytest.mark.parametrize(
    ("lhs", "rhs", "transposed", "dtypes"),
    [
        ((2, 3, 4, 7), (2, 1, 7, 5), False, ("int8", "int8", "int8")),
        ((4, 7), (3, 5, 7), True, ("uint8", "int8", "uint8")),
        ((1, 40000), (40000, 2), False, ("int8", "uint8", "int8")),
    ],
)
def test_primitives_equal_the_reference(
    lhs: tuple[int, ...], rhs: tuple[int, ...], transposed: bool, dtypes: tuple[str, str, str]
) -> None:
    rng = np.random.default_rng(len(lhs))
    operands = [
        full_range(rng, dtype, shape) for dtype, shape in zip(dtypes[:2], (lhs, rhs), strict=True)
    ]
    points = [int(full_range(rng, dtype, ())) for dtype in dtypes]
    for rounding in ("tflite", "float32"):
        check_operator(
            quantized_matmul,
            operands,
            rounding=rounding,
            lhs_scale=0.1,
            lhs_zero_point=points[0],
            rhs_scale=0.2,
            rhs_zero_point=points[1],
            output_scale=0.02 * 70 * 70 * lhs[-1] ** 0.5 / 60,
            output_zero_point=points[2],
            out_dtype=dtypes[2],
            transpose_rhs=transposed,
        )
