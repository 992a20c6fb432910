from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import scatter_rows
from qnn_ops.rows import DTYPES, REDUCTIONS
from tests.support.operators import check_operator


@pytest.mark.parametrize("dtype", DTYPES)
def test_primitives_equal_the_reference(dtype: str) -> None:
    rng = np.random.default_rng(0)
    # int32 wraps.
    most = 2**31 if dtype == "int32" else 4
    data, rows = (rng.integers(1, most, (size, 3)).astype(dtype) for size in (5, 6))
    places = np.array([1, 4, 1, 7, -1, 1], np.int32)
    # All of them for one dtype: what is compiled differs in no other way.
    for reduction in REDUCTIONS if dtype in ("float32", "int32") else ("update",):
        check_operator(scatter_rows, [data, places, rows], reduction=reduction)
