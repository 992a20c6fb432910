from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import dequantize
from tests.support.arrays import full_range
from tests.support.operators import check_operator


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_primitives_equal_the_reference(dtype: str, per_channel: bool) -> None:
    rng = np.random.default_rng(2)
    data = full_range(rng, dtype, (4, 500))
    zero_points = full_range(rng, dtype, (4,))
    check_operator(
        dequantize,
        [data],
        scale=[0.5, 0.1, 3.0, 0.007] if per_channel else 0.1,
        zero_point=zero_points.tolist() if per_channel else int(zero_points[0]),
        axis=0,
    )
