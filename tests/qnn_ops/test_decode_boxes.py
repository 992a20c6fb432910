from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qnn_ops import QnnError, decode_boxes
from tests.support.operators import check_round_trips, module_of

SCALES: dict[str, Any] = {"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}


def test_a_box_at_its_anchor() -> None:
    anchors = np.array([[0.5, 0.25, 0.5, 0.25]], np.float32)
    boxes = decode_boxes.evaluate(np.zeros((1, 4), np.float32), anchors, **SCALES)
    assert boxes.tolist() == [[0.25, 0.125, 0.75, 0.375]]
    moved = np.array([[10, 0, 0, 0, 99]], np.float32)
    assert decode_boxes.evaluate(moved, anchors, **SCALES).tolist() == [[0.75, 0.125, 1.25, 0.375]]


def test_round_trips() -> None:
    check_round_trips(
        decode_boxes, [*(np.zeros((3, size), np.float32) for size in (5, 4))], **SCALES
    )


@pytest.mark.parametrize(
    ("shapes", "scales", "message"),
    [
        (((3, 3), (3, 4)), {}, "encodings must have at least 4 numbers a box"),
        (((3, 4), (2, 4)), {}, r"anchors must have shape \(3, 4\), got \(2, 4\)"),
        (((3, 4), (3, 4)), {"h_scale": 0.0}, "h_scale must be a number other than 0"),
    ],
)
def test_what_does_not_fit_is_named(shapes: Any, scales: dict[str, Any], message: str) -> None:
    operands = [np.zeros(shape, np.float32) for shape in shapes]
    with pytest.raises(QnnError, match=f"decode_boxes: {message}"):
        module_of(decode_boxes, operands, **{**SCALES, **scales})
