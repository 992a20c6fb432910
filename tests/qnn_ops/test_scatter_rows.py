"""By hand; tests/frontends/tflite/converters/test_scatter.py compares with LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError, scatter_rows
from tests.support.operators import module_of

DATA = np.array([[1, 2], [3, 4], [5, 6]], np.int32)
PLACES = np.array([2, 0, 2], np.int32)
ROWS = np.array([[10, 20], [30, 40], [7, 2]], np.int32)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("update", [[30, 40], [3, 4], [7, 2]]),
        ("add", [[31, 42], [3, 4], [22, 28]]),
        ("multiply", [[30, 80], [3, 4], [350, 240]]),
        ("maximum", [[30, 40], [3, 4], [10, 20]]),
        ("minimum", [[1, 2], [3, 4], [5, 2]]),
    ],
)
def test_by_hand(reduction: str, expected: list[list[int]]) -> None:
    assert scatter_rows.evaluate(DATA, PLACES, ROWS, reduction).tolist() == expected


def test_places_are_the_nearest_ones() -> None:
    places = np.array([9, -5, 1], np.int32)
    result = scatter_rows.evaluate(DATA, places, ROWS)
    assert result.tolist() == [[30, 40], [7, 2], [10, 20]]


def test_rows_must_fit() -> None:
    with pytest.raises(QnnError, match=r"rows must be int32 of shape \(3, 2\), got int32 of shape"):
        module_of(scatter_rows, [DATA, PLACES, ROWS[:2]])
    with pytest.raises(QnnError, match="reduction must be"):
        module_of(scatter_rows, [DATA, PLACES, ROWS], reduction="mean")
