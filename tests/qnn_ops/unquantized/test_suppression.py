"""Boxes by their scores, without those that overlap a better one."""

from typing import Any

import numpy as np
import pytest

from qnn_ops import suppress_boxes, suppress_by_class
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError
from tests.support.errors import failing, fails
from tests.support.operators import module_of

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


test_what_does_not_fit_is_named = failing(
    lambda operands, attrs: module_of(suppress_boxes, operands, **{**ATTRS, **attrs}),
    ([BOXES, np.zeros(4, np.float16)], {}, "scores must be float32"),
    ([BOXES, np.zeros(3, np.float32)], {}, r"boxes must have shape \(boxes, 4\)"),
    ([BOXES, np.zeros(4, np.float32)], {"most": -1}, "most must not be negative, got -1"),
    ([BOXES, np.zeros(4, np.float32)], {"iou_threshold": np.nan}, "must be numbers"),
    match="suppress_boxes: .*{}",
)


# The second one overlaps the first by as much as the limit.
BOXES_SUPPRESS_BY_CLASS = np.array(
    [[[4, 4, 0, 0], [0, 0, 4, 3], [5, 5, 6, 6], [0, 0, 4, 4]]], np.float32
)
SCORES = np.array([[[0.5, 0.4, 0.3, 0.5], [0, 0.1, 0.2, 0.3]]], np.float32)
COUNT, LIMITS = np.array([3]), np.array([0.75, 0.1], np.float32)


def test_a_box_that_overlaps_a_better_one_of_its_class_is_dropped() -> None:
    found = suppress_by_class.evaluate(BOXES_SUPPRESS_BY_CLASS, SCORES, COUNT, LIMITS, most=3)
    rows = [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 1, 3], [0, 1, 2]]
    assert found.tolist() == [[5, 5, 5], *rows, [0, 0, 0]]


def test_the_count_is_as_many_as_there_is_room_for() -> None:
    found = suppress_by_class.evaluate(
        BOXES_SUPPRESS_BY_CLASS, SCORES, np.array([9]), LIMITS, most=1
    )
    assert found.tolist() == [[2, 2, 2], [0, 0, 0], [0, 1, 3]]


@pytest.mark.parametrize(
    ("place", "operand", "message"),
    [
        (1, SCORES.astype(np.float16), "scores must be float32"),
        (1, SCORES[:, :, :3], r"boxes must have shape \(images, boxes, 4\)"),
        (2, np.array([1, 2]), "count must have 1 number"),
        (3, np.ones(1, np.float32), "limits 2, got"),
    ],
)
def test_what_does_not_fit_is_named_of_suppress_by_class(
    place: int, operand: Array, message: str
) -> None:
    operands = [BOXES_SUPPRESS_BY_CLASS, SCORES, COUNT, LIMITS]
    operands[place] = operand
    fails(f"suppress_by_class: .*{message}", module_of, suppress_by_class, operands, most=2)
    with pytest.raises(QnnError, match="most must be from 0 to 4, got 5"):
        module_of(suppress_by_class, [BOXES_SUPPRESS_BY_CLASS, SCORES, COUNT, LIMITS], most=5)
