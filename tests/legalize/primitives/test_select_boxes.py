from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qnn_ops import select_boxes
from tests.support.operators import check_operator

Array = np.ndarray[Any, Any]


def boxes_and_scores(seed: int, count: int, classes: int) -> list[Array]:
    """Return boxes that overlap, and scores of which many are equal."""
    rng = np.random.default_rng(seed)
    low, size = rng.integers(0, 9, (count, 2)), rng.integers(0, 7, (count, 2))
    boxes = np.concatenate([low, low + size], axis=1).astype(np.float32)
    return [boxes, (rng.integers(0, 12, (count, classes)) / 8).astype(np.float32)]


@pytest.mark.parametrize(
    ("by_class", "most", "most_of_class", "classes_per_box", "classes"),
    [
        (False, 5, 1, 1, 4),
        (False, 30, 1, 3, 9),
        (False, 7, 1, 9, 4),
        (False, 4, 1, 2, 1),
        (False, 9, 1, 1, 37),
        (True, 10, 3, 1, 5),
        (True, 100, 20, 1, 6),
        (True, 1, 1, 1, 3),
    ],
)
def test_primitives_equal_the_reference(
    by_class: bool, most: int, most_of_class: int, classes_per_box: int, classes: int
) -> None:
    result = check_operator(
        select_boxes,
        boxes_and_scores(most, 40, classes),
        by_class=by_class,
        most=most,
        most_of_class=most_of_class,
        classes_per_box=classes_per_box,
        score_threshold=0.25,
        iou_threshold=0.5,
    )
    assert 0 < result[0] <= most


def test_nothing_is_good_enough() -> None:
    result = check_operator(
        select_boxes,
        boxes_and_scores(1, 9, 2),
        by_class=False,
        most=3,
        most_of_class=1,
        classes_per_box=1,
        score_threshold=99.0,
        iou_threshold=0.5,
    )
    assert result.tolist() == [0, -1, -1, -1]
