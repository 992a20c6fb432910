from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import quantized_svdf
from tests.support.arrays import full_range
from tests.support.operators import check_operator, check_round_trips


@pytest.mark.parametrize(("dtype", "point"), [("int16", 0), ("int8", -7)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_primitives_equal_the_reference(dtype: str, point: int, has_bias: bool) -> None:
    rng = np.random.default_rng(2)
    bias = rng.integers(-999, 999, 3).astype(np.int32) if has_bias else None
    operands = [full_range(rng, dtype, (4, 24)), full_range(rng, dtype, (6, 4)), bias]
    check_operator(
        quantized_svdf,
        operands,
        rank=2,
        state_scale=0.5,
        state_zero_point=point,
        weights_scale=1 / 64,
        output_scale=700.0 if dtype == "int16" else 1.0,
        output_zero_point=3,
    )


def test_round_trips() -> None:
    arrays = [np.zeros((1, 4), np.int16), np.zeros((2, 2), np.int16), np.zeros(2, np.int32)]
    scales = {"state_scale": 0.5, "weights_scale": 0.5, "output_scale": 0.5}
    points = {"state_zero_point": 0, "output_zero_point": 3}
    check_round_trips(quantized_svdf, arrays, rank=1, **scales, **points)
