"""By hand; tests/frontends/tflite/converters/test_sparse_lookup.py compares with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError, average_rows
from tests.support.operators import module_of

ROWS = np.array([[1, 2], [3, 4], [8, 16], [5, 1]], np.float32)
WEIGHTS = np.array([1, 3, 4, 2], np.float32)


def test_by_hand() -> None:
    places = np.array([2, 2, 0, 0], np.int32)
    weights = np.array([1, 3, 4, 4], np.float32)
    result = average_rows.evaluate(ROWS, weights, places, 3)
    assert result.tolist() == [[13 / 8, 17 / 8], [0, 0], [1, 1.5]]


def test_what_comes_to_a_place_again_is_added_to_the_quotient() -> None:
    places, weights = np.array([1, 1, 0, 9], np.int32), np.array([1, 3, 4, 16], np.float32)
    result = average_rows.evaluate(ROWS, weights, places, 2, True)
    # 9 is the nearest place, 1, where (1 + 3) / 2 and (2 + 4) / 2 were.
    assert result.tolist() == [[4, 8], [7 / 4, 4 / 4]]


def test_operands_must_fit() -> None:
    places = np.zeros(4, np.int32)
    with pytest.raises(QnnError, match=r"weights must have shape \(4,\), got \(3,\)"):
        module_of(average_rows, [ROWS, WEIGHTS[:3], places], count=2)
    with pytest.raises(QnnError, match="count must be at least 1, got 0"):
        module_of(average_rows, [ROWS, WEIGHTS, places], count=0)
