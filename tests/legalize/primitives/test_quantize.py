from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qnn_ops import quantize
from tests.support.operators import check_operator


@pytest.mark.parametrize("out_dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("has_multiplier", [False, True])
def test_primitives_equal_the_reference(
    out_dtype: str, per_channel: bool, has_multiplier: bool
) -> None:
    rng = np.random.default_rng(1)
    # Ties, values near them, values beyond every range, and what is no number.
    scales = np.array([0.5, 0.1, 3.0, 0.007], np.float32)
    data = (rng.integers(-600, 600, (1000, 4)) / 2 * scales).astype(np.float32)
    data[100:200] = np.nextafter(data[100:200], np.float32(0))
    data[0], data[1], data[2], data[3] = np.nan, np.inf, -np.inf, 1e30
    data[4:300:3] *= np.float32(1e7)
    zero_points = np.array([0, 1, 100, 127])
    multiplier: Any = None
    if has_multiplier:
        multiplier = (1 / scales).tolist() if per_channel else 1 / 0.1
    check_operator(
        quantize,
        [data],
        scale=scales.tolist() if per_channel else 0.1,
        zero_point=zero_points.tolist() if per_channel else 3,
        out_dtype=out_dtype,
        multiplier=multiplier,
    )
