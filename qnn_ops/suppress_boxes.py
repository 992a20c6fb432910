"""Boxes of one class by their scores, without those that overlap a better one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.attributes import float_attr, int_attr
from qnn_ops.checks import check_dtype
from qnn_ops.decode_boxes import CORNERS
from qnn_ops.errors import QnnError
from qnn_ops.heaps import pop, push
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.select_boxes import overlap
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]


@operator(
    "boxes",
    "scores",
    traits=FIXED,
)
def suppress_boxes(
    boxes: relax.Expr,
    scores: relax.Expr,
    most: int,
    score_threshold: float,
    iou_threshold: float,
) -> relax.Call:
    """Choose boxes of one class by their scores, without those that overlap a better one.

    A chosen box waits on among the others: it is dropped because it overlaps itself, unless its
    area is 0, when it is chosen again. Equal scores come in the order of std::priority_queue of
    libstdc++.

    Source of the arithmetic: NonMaxSuppression of TFLite's
    kernels/internal/reference/non_max_suppression.h, without soft suppression.

    Args:
        boxes: float32, [boxes, 4]: any two opposite corners, y before x.
        scores: float32, [boxes].
        most: how many to choose.
        score_threshold: only higher scores count.
        iou_threshold: two boxes overlap whose intersection is at least this part of their union.

    Returns:
        A call whose result is int32, [1 + most]: how many boxes were chosen, then their numbers,
        and 0 where there is none.

    Raises:
        QnnError: if a dtype, a shape or a number does not fit.
    """
    return suppress_boxes.call(
        [boxes, scores],
        most=int_attr("most", most),
        score_threshold=float_attr("score_threshold", score_threshold),
        iou_threshold=float_attr("iou_threshold", iou_threshold),
    )


@suppress_boxes.type_rule
def _type(attrs: Attrs, boxes: TensorSpec, scores: TensorSpec) -> TensorSpec:
    for name, spec in (("boxes", boxes), ("scores", scores)):
        check_dtype(name, spec.dtype, ("float32",))
    if len(scores.shape) != 1 or boxes.shape != (*scores.shape, CORNERS) or 0 in scores.shape:
        raise QnnError(
            "boxes must have shape (boxes, 4) and scores (boxes,), with one box at least, got "
            f"{boxes.shape} and {scores.shape}"
        )
    if attrs.most < 0:
        raise QnnError(f"most must not be negative, got {attrs.most}")
    if math.isnan(attrs.score_threshold) or math.isnan(attrs.iou_threshold):
        raise QnnError(
            "score_threshold and iou_threshold must be numbers, got "
            f"{attrs.score_threshold} and {attrs.iou_threshold}"
        )
    return TensorSpec((1 + attrs.most,), "int32")


suppress_boxes.overflow_rule(cannot_overflow)


@suppress_boxes.reference
def _reference(attrs: Attrs, boxes: Array, scores: Array) -> Array:
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    ordered = np.concatenate([low, high], axis=1)
    limit = np.float32(attrs.iou_threshold)
    waiting: list[int] = []

    def before(one: int, other: int) -> bool:
        return bool(scores[one] < scores[other])

    for each in np.flatnonzero(scores > np.float32(attrs.score_threshold)):
        push(waiting, int(each), before)
    most = min(attrs.most, len(waiting))
    begins = dict.fromkeys(waiting, 0)
    chosen: list[int] = []
    while len(chosen) < most and waiting:
        box = pop(waiting, before)
        rivals = chosen[begins[box] :]
        begins[box] = len(chosen)
        if not any(overlap(ordered[box], ordered[each]) >= limit for each in rivals):
            chosen.append(box)
            push(waiting, box, before)
    return np.array([len(chosen), *chosen, *[0] * (attrs.most - len(chosen))], np.int32)
