from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import top_places
from tests.support.operators import check_operator


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "float32"])
@pytest.mark.parametrize(("rows", "size", "count"), [(1, 1, 1), (3, 40, 7), (2, 33, 33)])
def test_primitives_equal_the_reference(dtype: str, rows: int, size: int, count: int) -> None:
    # Few different values: most are ties.
    data = np.random.default_rng(size).integers(0, 6, (rows, size)).astype(dtype)
    check_operator(top_places, [data], count=count)
