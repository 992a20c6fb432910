"""Indices that the data decide: of the largest elements, and counted from a first one."""

import numpy as np
import pytest

from qnn_ops import counted_indices, top_indices
from qnn_ops.errors import QnnError
from tests.support.errors import failing, fails
from tests.support.operators import module_of

PLACES = np.array([[0, -1], [-5, 4]])


def test_negative_ones_are_counted_from_the_end() -> None:
    counted = counted_indices.evaluate(PLACES, 5, "it", from_end=True)
    assert counted.tolist() == [[0, 4], [0, 4]]


@pytest.mark.parametrize(("size", "from_end", "first"), [(4, True, -5), (5, False, -1)])
def test_a_place_that_is_not_there_is_named(size: int, from_end: bool, first: int) -> None:
    with pytest.raises(QnnError, match=f"^it: index {first} is beyond the {size} that there are$"):
        counted_indices.evaluate(PLACES, size, "it", from_end=from_end)


def test_operands_must_fit() -> None:
    fails("indices", module_of, counted_indices, [PLACES.astype(np.float32)], size=5, source="it")
    fails("size must be at least 1", module_of, counted_indices, [PLACES], size=0, source="it")


def test_the_first_of_equal_ones_comes_first() -> None:
    data = np.array([[3, 5, 3, 5, 4], [-1, -2, -1, -3, -1]], np.int8)
    assert top_indices.evaluate(data, count=4).tolist() == [[1, 3, 4, 0], [0, 2, 4, 1]]


test_what_does_not_fit_is_named = failing(
    lambda data, count: module_of(top_indices, [data], count=count),
    (np.zeros((2, 5), np.float16), 1, "data must be int8 or"),
    (np.zeros(5, np.int8), 1, "data must have 2 dimensions"),
    (np.zeros((2, 5), np.int8), 6, "count must be 1 to 5"),
    (np.zeros((2, 5), np.int8), 0, "count must be 1 to 5"),
    match="top_indices: {}",
)
