from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qnn_ops import QnnError, top_places
from tests.support.operators import check_round_trips, module_of


def test_the_first_of_equal_ones_comes_first() -> None:
    data = np.array([[3, 5, 3, 5, 4], [-1, -2, -1, -3, -1]], np.int8)
    assert top_places.evaluate(data, count=4).tolist() == [[1, 3, 4, 0], [0, 2, 4, 1]]


def test_round_trips() -> None:
    check_round_trips(top_places, [np.zeros((2, 5), np.uint8)], count=3)


@pytest.mark.parametrize(
    ("data", "count", "message"),
    [
        (np.zeros((2, 5), np.float16), 1, "data must be int8 or"),
        (np.zeros(5, np.int8), 1, "data must have 2 dimensions"),
        (np.zeros((2, 5), np.int8), 6, "count must be 1 to 5"),
        (np.zeros((2, 5), np.int8), 0, "count must be 1 to 5"),
    ],
)
def test_what_does_not_fit_is_named(data: Any, count: int, message: str) -> None:
    with pytest.raises(QnnError, match=f"top_places: {message}"):
        module_of(top_places, [data], count=count)
