from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import reduce_windows
from qnn_ops.reduce_windows import DTYPES, REDUCTIONS
from tests.support.operators import check_operator


@pytest.mark.parametrize("dtype", DTYPES)
def test_primitives_equal_the_reference(dtype: str) -> None:
    rng = np.random.default_rng(0)
    most = 2**31 if dtype == "int32" else 100  # int32 wraps
    data = rng.integers(0, most, (5, 6)).astype(dtype) * rng.integers(0, 2, (5, 6)).astype(dtype)
    if dtype == "float32":
        data[1, 2:4] = np.nan
    for reduction in REDUCTIONS:
        windows = {"window": [2, 3], "strides": [1, 2], "dilations": [3, 1]}
        check_operator(reduce_windows, [data, data[0, :1]], **windows, reduction=reduction)
