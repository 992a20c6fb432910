from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import average_rows
from tests.support.operators import check_operator


@pytest.mark.parametrize("is_root", [False, True])
def test_primitives_equal_the_reference(is_root: bool) -> None:
    rng = np.random.default_rng(0)
    for number in (1, 9):
        rows = rng.normal(0, 1, (number, 5)).astype(np.float32)
        weights = rng.uniform(0.1, 2, number).astype(np.float32)
        places = np.array([2, 2, 0, 0, 0, 2, 9, -1, 2], np.int32)[:number]
        check_operator(average_rows, [rows, weights, places], count=4, is_root=is_root)
