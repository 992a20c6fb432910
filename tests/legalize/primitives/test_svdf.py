"""quantized_svdf and quantized_svdf_state in Relax primitives."""

import numpy as np
import pytest

from qnn_ops import quantized_svdf, quantized_svdf_state
from tests.support.arrays import full_range
from tests.support.operators import check_operator


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


@pytest.mark.parametrize(("dtype", "point"), [("int16", 0), ("int8", -7)])
@pytest.mark.parametrize("steps", [1, 5])
def test_primitives_equal_the_reference_of_quantized_svdf_state(
    dtype: str, point: int, steps: int
) -> None:
    rng = np.random.default_rng(2)
    operands = [
        rng.integers(-90_000, 90_000, (2, 3)).astype(np.int32),
        full_range(rng, dtype, (2, 3 * steps)),
    ]
    check_operator(
        quantized_svdf_state,
        operands,
        input_scale=0.5,
        weights_scale=0.25,
        state_scale=0.06 if dtype == "int16" else 50.0,
        state_zero_point=point,
    )
