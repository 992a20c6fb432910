from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import QnnError, counted_places
from tests.support.operators import module_of

PLACES = np.array([[0, -1], [-5, 4]])


def test_negative_ones_are_counted_from_the_end() -> None:
    counted = counted_places.evaluate(PLACES, 5, "it", from_end=True)
    assert counted.tolist() == [[0, 4], [0, 4]]


@pytest.mark.parametrize(("size", "from_end", "first"), [(4, True, -5), (5, False, -1)])
def test_a_place_that_is_not_there_is_named(size: int, from_end: bool, first: int) -> None:
    with pytest.raises(QnnError, match=f"^it: index {first} is beyond the {size} that there are$"):
        counted_places.evaluate(PLACES, size, "it", from_end=from_end)


def test_operands_must_fit() -> None:
    with pytest.raises(QnnError, match="places"):
        module_of(counted_places, [PLACES.astype(np.float32)], size=5, source="it")
    with pytest.raises(QnnError, match="size must be at least 1"):
        module_of(counted_places, [PLACES], size=0, source="it")
