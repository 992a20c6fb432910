from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qnn_ops import QnnError, select_boxes
from qnn_ops.select_boxes import overlap
from tests.support.operators import check_round_trips, module_of

Array = np.ndarray[Any, Any]

ATTRS: dict[str, Any] = {
    "by_class": False,
    "most": 3,
    "most_of_class": 2,
    "classes_per_box": 2,
    "score_threshold": 0.5,
    "iou_threshold": 0.5,
}
# The second one overlaps the first.
BOXES = np.array([[0, 0, 4, 4], [0, 0, 4, 3], [5, 5, 6, 6]], np.float32)
SCORES = np.array([[0.6, 0.9], [0.8, 0.7], [0.4, 0.5]], np.float32)


def test_a_box_counts_once_with_its_best_score() -> None:
    found = select_boxes.evaluate(BOXES, SCORES, **ATTRS)
    assert found.tolist() == [2, 1, 0, 5, 4, -1, -1]


def test_boxes_of_different_classes_may_overlap() -> None:
    found = select_boxes.evaluate(BOXES, SCORES, **{**ATTRS, "by_class": True})
    assert found.tolist() == [3, 1, 2, 5]


def test_the_first_of_equal_boxes_and_classes_comes_first() -> None:
    scores = np.ones((3, 2), np.float32)
    attrs = {**ATTRS, "classes_per_box": 1}
    assert select_boxes.evaluate(BOXES, scores, **attrs).tolist() == [2, 0, 4, -1]
    attrs["by_class"] = True
    assert select_boxes.evaluate(BOXES, scores, **attrs).tolist() == [3, 0, 4, 1]


def test_boxes_without_area_overlap_nothing() -> None:
    assert overlap(BOXES[0], BOXES[0]) == 1
    assert overlap(BOXES[0], BOXES[1]) == 0.75
    assert overlap(BOXES[0], np.zeros(4, np.float32)) == 0


def test_round_trips() -> None:
    check_round_trips(select_boxes, [BOXES, SCORES], **ATTRS)


@pytest.mark.parametrize(
    ("operands", "attrs", "message"),
    [
        ([BOXES.astype(np.float64), SCORES], {}, "boxes must be float32"),
        ([BOXES, SCORES[0]], {}, "scores must have 2 dimensions"),
        ([BOXES[:2], SCORES], {}, r"boxes must have shape \(boxes, 4\) and scores"),
        ([BOXES, SCORES], {"most": 0}, "most must be at least 1, got 0"),
        ([BOXES, SCORES], {"iou_threshold": 1.5}, "iou_threshold above 0 and at most 1"),
        ([BOXES, SCORES], {"most": 1 << 29}, "results .* are too many"),
    ],
)
def test_what_does_not_fit_is_named(
    operands: list[Array], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(QnnError, match=f"select_boxes: .*{message}"):
        module_of(select_boxes, operands, **{**ATTRS, **attrs})
