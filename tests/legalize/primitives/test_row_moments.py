from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import row_moments
from qnn_ops.row_moments import ORDERS
from tests.support.operators import check_operator


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 33), (8, 40), (48, 7), (6, 29)])
def test_primitives_equal_the_reference(order: str, shape: tuple[int, int]) -> None:
    rows = np.random.default_rng(1).normal(0.5, 2, shape).astype(np.float32)
    check_operator(row_moments, [rows], order=order)
