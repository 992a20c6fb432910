"""Rows averaged by weights, and rows put at indices of a tensor."""

import numpy as np
import pytest

from qnn_ops import average_rows, scatter_rows
from qnn_ops.errors import QnnError
from tests.support.errors import giving
from tests.support.operators import module_of

ROWS = np.array([[1, 2], [3, 4], [8, 16], [5, 1]], np.float32)
WEIGHTS = np.array([1, 3, 4, 2], np.float32)


def test_by_hand() -> None:
    indices = np.array([2, 2, 0, 0], np.int32)
    weights = np.array([1, 3, 4, 4], np.float32)
    result = average_rows.evaluate(ROWS, weights, indices, 3)
    assert result.tolist() == [[13 / 8, 17 / 8], [0, 0], [1, 1.5]]


def test_what_comes_to_a_place_again_is_added_to_the_quotient() -> None:
    indices, weights = np.array([1, 1, 0, 9], np.int32), np.array([1, 3, 4, 16], np.float32)
    result = average_rows.evaluate(ROWS, weights, indices, 2, True)
    # 9 is the nearest index, 1, where (1 + 3) / 2 and (2 + 4) / 2 were.
    assert result.tolist() == [[4, 8], [7 / 4, 4 / 4]]


def test_operands_must_fit() -> None:
    indices = np.zeros(4, np.int32)
    with pytest.raises(QnnError, match=r"weights must have shape \(4,\), got \(3,\)"):
        module_of(average_rows, [ROWS, WEIGHTS[:3], indices], count=2)
    with pytest.raises(QnnError, match="count must be at least 1, got 0"):
        module_of(average_rows, [ROWS, WEIGHTS, indices], count=0)


DATA = np.array([[1, 2], [3, 4], [5, 6]], np.int32)
PLACES = np.array([2, 0, 2], np.int32)
ROWS_SCATTER_ROWS = np.array([[10, 20], [30, 40], [7, 2]], np.int32)


test_by_hand_of_scatter_rows = giving(
    lambda reduction: scatter_rows.evaluate(DATA, PLACES, ROWS_SCATTER_ROWS, reduction).tolist(),
    ("update", [[30, 40], [3, 4], [7, 2]]),
    ("add", [[31, 42], [3, 4], [22, 28]]),
    ("multiply", [[30, 80], [3, 4], [350, 240]]),
    ("maximum", [[30, 40], [3, 4], [10, 20]]),
    ("minimum", [[1, 2], [3, 4], [5, 2]]),
)


def test_places_are_the_nearest_ones() -> None:
    indices = np.array([9, -5, 1], np.int32)
    result = scatter_rows.evaluate(DATA, indices, ROWS_SCATTER_ROWS)
    assert result.tolist() == [[30, 40], [7, 2], [10, 20]]


def test_rows_must_fit() -> None:
    with pytest.raises(QnnError, match=r"rows must be int32 of shape \(3, 2\), got int32 of shape"):
        module_of(scatter_rows, [DATA, PLACES, ROWS_SCATTER_ROWS[:2]])
    with pytest.raises(QnnError, match="reduction must be"):
        module_of(scatter_rows, [DATA, PLACES, ROWS_SCATTER_ROWS], reduction="mean")
