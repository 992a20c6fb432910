"""A detector's boxes: decoded from anchors, and chosen among by their scores."""

from typing import Any

import numpy as np

from qnn_ops import decode_boxes, select_boxes
from qnn_ops.unquantized.boxes import first_in_order, overlap, pop, push
from tests.support.errors import failing
from tests.support.operators import module_of

SCALES: dict[str, Any] = {"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}


def test_a_box_at_its_anchor() -> None:
    anchors = np.array([[0.5, 0.25, 0.5, 0.25]], np.float32)
    boxes = decode_boxes.evaluate(np.zeros((1, 4), np.float32), anchors, **SCALES)
    assert boxes.tolist() == [[0.25, 0.125, 0.75, 0.375]]
    moved = np.array([[10, 0, 0, 0, 99]], np.float32)
    assert decode_boxes.evaluate(moved, anchors, **SCALES).tolist() == [[0.75, 0.125, 1.25, 0.375]]


test_what_does_not_fit_is_named = failing(
    lambda shapes, scales: module_of(
        decode_boxes, [np.zeros(shape, np.float32) for shape in shapes], **{**SCALES, **scales}
    ),
    (((3, 3), (3, 4)), {}, "encodings must have at least 4 numbers a box"),
    (((3, 4), (2, 4)), {}, r"anchors must have shape \(3, 4\), got \(2, 4\)"),
    (((3, 4), (3, 4)), {"h_scale": 0.0}, "h_scale must be a number other than 0"),
    match="decode_boxes: {}",
)


def test_different_values_are_sorted() -> None:
    values = np.random.default_rng(0).permutation(40)
    for count in (1, 2, 17, 40):
        found = first_in_order(values, count)
        assert [values[place] for place in found] == list(range(39, 39 - count, -1))


def test_equal_values_come_in_the_order_of_the_heap() -> None:
    # As std::partial_sort of libstdc++ orders them.
    assert first_in_order(np.zeros(6), 1) == [0]
    assert sorted(first_in_order(np.zeros(6), 6)) == [0, 1, 2, 3, 4, 5]
    assert first_in_order(np.zeros(6), 4) == [1, 3, 0, 2]


def test_a_queue_gives_the_largest_first() -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6]
    heap: list[int] = []
    for place in range(len(values)):
        push(heap, place, lambda a, b: values[a] < values[b])
    found = [values[pop(heap, lambda a, b: values[a] < values[b])] for _ in values]
    assert found == sorted(values, reverse=True)


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


test_what_does_not_fit_is_named_of_select_boxes = failing(
    lambda operands, attrs: module_of(select_boxes, operands, **{**ATTRS, **attrs}),
    ([BOXES.astype(np.float64), SCORES], {}, "boxes must be float32"),
    ([BOXES, SCORES[0]], {}, "scores must have 2 dimensions"),
    ([BOXES[:2], SCORES], {}, r"boxes must have shape \(boxes, 4\) and scores"),
    ([BOXES, SCORES], {"most": 0}, "most must be at least 1, got 0"),
    ([BOXES, SCORES], {"iou_threshold": 1.5}, "iou_threshold above 0 and at most 1"),
    ([BOXES, SCORES], {"most": 1 << 29}, "results .* are too many"),
    match="select_boxes: .*{}",
)
