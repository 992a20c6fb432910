"""By hand; tests/frontends/onnx/replacements/test_normalizations.py compares with ONNX Runtime."""

import numpy as np
import pytest

from qnn_ops import row_moments
from tests.support.errors import fails
from tests.support.operators import module_of

ROWS = np.array([[1, 2, 6], [4, 4, 4]], np.float32)


@pytest.mark.parametrize("order", ["two_passes", "welford", "vectors"])
def test_by_hand(order: str) -> None:
    assert row_moments.evaluate(ROWS, order).tolist() == [[3, np.float32(14) / 3], [4, 0]]


@pytest.mark.parametrize("order", ["squares", "vector_squares"])
def test_squares_by_hand(order: str) -> None:
    assert row_moments.evaluate(ROWS, order).tolist() == [[0, np.float32(41) / 3], [0, 16]]


def test_an_order_has_its_own_roundings() -> None:
    rows = np.array([[2.0**24, 1, 1, 1]], np.float32)
    assert row_moments.evaluate(rows, "two_passes")[0, 0] == 2.0**22
    assert row_moments.evaluate(rows, "welford")[0, 0] != 2.0**22


def test_operands_must_fit() -> None:
    fails("rows must have elements", module_of, row_moments, [ROWS[:0]], order="welford")
    fails("order", module_of, row_moments, [ROWS], order="backward")
    fails("rows", module_of, row_moments, [ROWS[0]], order="welford")
