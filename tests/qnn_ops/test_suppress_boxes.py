from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qnn_ops import QnnError, suppress_boxes
from tests.support.operators import check_round_trips, module_of

Array = np.ndarray[Any, Any]

ATTRS: dict[str, Any] = {"most": 3, "score_threshold": 0.1, "iou_threshold": 0.75}
# The second one overlaps the first by as much as the threshold; the last one has no area.
BOXES = np.array([[4, 4, 0, 0], [0, 0, 4, 3], [5, 5, 6, 6], [7, 7, 7, 9]], np.float32)


def test_a_box_that_overlaps_a_better_one_is_dropped() -> None:
    found = suppress_boxes.evaluate(BOXES[:3], np.array([0.5, 0.4, 0.3], np.float32), **ATTRS)
    assert found.tolist() == [2, 0, 2, 0]


def test_a_box_without_area_is_chosen_again_and_again() -> None:
    scores = np.array([0.5, 0.4, 0.3, 0.9], np.float32)
    assert suppress_boxes.evaluate(BOXES, scores, **ATTRS).tolist() == [3, 3, 3, 3]


def test_scores_must_be_above_the_threshold() -> None:
    scores = np.full(4, 0.1, np.float32)
    assert suppress_boxes.evaluate(BOXES, scores, **ATTRS).tolist() == [0, 0, 0, 0]


def test_round_trips() -> None:
    check_round_trips(suppress_boxes, [BOXES, np.zeros(4, np.float32)], **ATTRS)


@pytest.mark.parametrize(
    ("operands", "attrs", "message"),
    [
        ([BOXES, np.zeros(4, np.float16)], {}, "scores must be float32"),
        ([BOXES, np.zeros(3, np.float32)], {}, r"boxes must have shape \(boxes, 4\)"),
        ([BOXES, np.zeros(4, np.float32)], {"most": -1}, "most must not be negative, got -1"),
        ([BOXES, np.zeros(4, np.float32)], {"iou_threshold": np.nan}, "must be numbers"),
    ],
)
def test_what_does_not_fit_is_named(
    operands: list[Array], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(QnnError, match=f"suppress_boxes: .*{message}"):
        module_of(suppress_boxes, operands, **{**ATTRS, **attrs})
