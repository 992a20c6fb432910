"""A detector's boxes as loops: decoded, chosen, and suppressed where they overlap."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn
from qnn_ops import decode_boxes, select_boxes, suppress_boxes, suppress_by_class
from qnn_ops.arrays import Array
from tests.support.operators import check_operator, module_of
from tests.support.x86 import runs_here

SCALES: dict[str, Any] = {"y_scale": 10.0, "x_scale": 7.0, "h_scale": 5.0, "w_scale": 3.0}


def test_primitives_equal_the_reference() -> None:
    rng = np.random.default_rng(0)
    encodings = rng.normal(0, 5, (300, 6)).astype(np.float32)
    anchors = rng.random((300, 4), np.float32)
    check_operator(decode_boxes, [encodings, anchors], **SCALES)


@pytest.mark.skipif(not runs_here("haswell"), reason="this machine has no x86 FMA")
def test_centres_are_not_contracted_to_fma() -> None:
    # A third times 3 is 1 once it is rounded, and sizes are 0.
    operands = [np.array([[1, 1, -1e5, -1e5]], np.float32), np.array([[-1, -1, 3, 3]], np.float32)]
    scales = {**SCALES, "y_scale": 3.0, "x_scale": 3.0}
    library = tvm_qnn.build(module_of(decode_boxes, operands, **scales), "llvm -mcpu=haswell")
    actual = library.run(*operands)
    np.testing.assert_array_equal(actual, np.zeros((1, 4), np.float32))


def boxes_and_scores(seed: int, count: int, classes: int) -> list[Array]:
    """Return boxes that overlap, and scores, many of them equal."""
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
def test_primitives_equal_the_reference_of_select_boxes(
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


@pytest.mark.parametrize(("count", "most"), [(1, 1), (2, 5), (41, 60), (64, 8), (9, 0)])
def test_primitives_equal_the_reference_of_suppress_boxes(count: int, most: int) -> None:
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
