"""suppress_boxes and suppress_by_class as loops."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import suppress_boxes, suppress_by_class
from tests.legalize.primitives.test_boxes import boxes_and_scores
from tests.support.operators import check_operator


@pytest.mark.parametrize(("count", "most"), [(1, 1), (2, 5), (41, 60), (64, 8), (9, 0)])
def test_primitives_equal_the_reference(count: int, most: int) -> None:
    boxes, scores = boxes_and_scores(count, count, 1)
    boxes[::3] = boxes[::3, ::-1]  # corners in any order
    thresholds = {"score_threshold": 0.2, "iou_threshold": 0.4}
    check_operator(suppress_boxes, [boxes, np.ravel(scores)], most=most, **thresholds)


@pytest.mark.parametrize(
    ("count", "most", "has_centers", "takes_all"),
    [(1, 1, False, False), (41, 41, False, True), (64, 8, True, False), (9, 0, False, False)],
)
def test_primitives_equal_the_reference_of_suppress_by_class(
    count: int, most: int, has_centers: bool, takes_all: bool
) -> None:
    pairs = [boxes_and_scores(seed, count, 3) for seed in (1, 2)]
    boxes, scores = (np.stack(each) for each in zip(*pairs, strict=True))
    boxes[:, ::3] = boxes[:, ::3, ::-1]  # corners in any order
    operands = [
        boxes,
        scores.swapaxes(1, 2).copy(),
        np.array([7]),
        np.array([0.4, 0.2], np.float32),
    ]
    attrs = {"has_centers": has_centers, "takes_all": takes_all}
    found = check_operator(suppress_by_class, operands, most=most, **attrs)
    assert found[0, 0] or not most
