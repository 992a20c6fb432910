from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import natural_power
from qnn_ops.float_arithmetic import DTYPES
from tests.support.operators import check_operator


@pytest.mark.parametrize("dtype", DTYPES)
def test_primitives_equal_the_reference(dtype: str) -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(-(2**31), 2**31, 37).astype(dtype)
    if dtype == "float32":
        data = rng.normal(0, 2, 37).astype(dtype)
        data[:5] = [np.nan, np.inf, -np.inf, 1e30, -0.0]
    for exponent in (-5, 0, 1, 2, 3, 6, 7, 100, 2**30, 2**31 - 1):
        check_operator(natural_power, [data, np.array([exponent], np.int32)])
