"""A detector's choice among its boxes: the best ones, without those that overlap them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.attributes import float_attr, int_attr
from qnn_ops.checks import check_dtype, check_rank
from qnn_ops.decode_boxes import CORNERS
from qnn_ops.errors import QnnError
from qnn_ops.heaps import first_in_order
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import FIXED

Array = np.ndarray[Any, Any]

_MOST = 1 << 31


@operator(
    "boxes",
    "scores",
    traits=FIXED,
)
def select_boxes(
    boxes: relax.Expr,
    scores: relax.Expr,
    by_class: bool,
    most: int,
    most_of_class: int,
    classes_per_box: int,
    score_threshold: float,
    iou_threshold: float,
) -> relax.Call:
    """Choose boxes by their scores, without those that overlap a better one.

    Of what is equal comes first: the box of the lower number; by class, the lower class; of the
    classes of one box, as std::partial_sort of libstdc++ orders them.

    Source of the arithmetic: TFLite's kernels/detection_postprocess.cc, on one thread.

    Args:
        boxes: float32, [boxes, 4]: the lowest y and x, the highest y and x.
        scores: float32, [boxes, classes].
        by_class: whether boxes of different classes may overlap; else a box counts once, with
            its best score, and is given for its best classes.
        most: how many to choose.
        most_of_class: how many of one class; read by class only.
        classes_per_box: how many classes of a box to give; read unless by class.
        score_threshold: the lowest score that counts.
        iou_threshold: two boxes overlap whose intersection is a larger part of their union.

    Returns:
        A call whose result is int32, [1 + most], or [1 + most * classes_per_box] unless by class:
        how many boxes were chosen; then for each its number times the number of classes, plus
        that of a class; -1 where there is none.

    Raises:
        QnnError: if a dtype, a shape or a number does not fit.
    """
    return select_boxes.call(
        [boxes, scores],
        by_class=bool(by_class),
        most=int_attr("most", most),
        most_of_class=int_attr("most_of_class", most_of_class),
        classes_per_box=int_attr("classes_per_box", classes_per_box),
        score_threshold=float_attr("score_threshold", score_threshold),
        iou_threshold=float_attr("iou_threshold", iou_threshold),
    )


@select_boxes.type_rule
def _type(attrs: Attrs, boxes: TensorSpec, scores: TensorSpec) -> TensorSpec:
    for name, spec in (("boxes", boxes), ("scores", scores)):
        check_dtype(name, spec.dtype, ("float32",))
        check_rank(name, spec, 2)
    if boxes.shape[1] != CORNERS or boxes.shape[0] != scores.shape[0] or 0 in scores.shape:
        raise QnnError(
            "boxes must have shape (boxes, 4) and scores (boxes, classes), none of them 0, got "
            f"{boxes.shape} and {scores.shape}"
        )
    for name in ("most", "most_of_class", "classes_per_box"):
        if getattr(attrs, name) < 1:
            raise QnnError(f"{name} must be at least 1, got {getattr(attrs, name)}")
    if math.isnan(attrs.score_threshold) or not 0 < attrs.iou_threshold <= 1:
        raise QnnError(
            "score_threshold must be a number and iou_threshold above 0 and at most 1, got "
            f"{attrs.score_threshold} and {attrs.iou_threshold}"
        )
    slots = attrs.most * (1 if attrs.by_class else attrs.classes_per_box)
    if slots * CORNERS >= _MOST or math.prod(scores.shape) >= _MOST:
        raise QnnError(f"{slots} results of scores of shape {scores.shape} are too many")
    return TensorSpec((1 + slots,), "int32")


select_boxes.overflow_rule(cannot_overflow)


@select_boxes.reference
def _reference(attrs: Attrs, boxes: Array, scores: Array) -> Array:
    return _by_class(attrs, boxes, scores) if attrs.by_class else _of_all(attrs, boxes, scores)


def _of_all(attrs: Attrs, boxes: Array, scores: Array) -> Array:
    classes = scores.shape[1]
    chosen = _chosen(attrs, boxes, scores.max(axis=1), attrs.most)
    places = np.full((attrs.most, attrs.classes_per_box), -1, np.int32)
    for row, box in enumerate(chosen):
        best = first_in_order(scores[box], min(attrs.classes_per_box, classes))
        places[row, : len(best)] = [box * classes + each for each in best]
    return np.concatenate([np.array([len(chosen)], np.int32), places.ravel()])


def _by_class(attrs: Attrs, boxes: Array, scores: Array) -> Array:
    classes = scores.shape[1]
    found = [
        (-float(scores[box, each]), each, rank, box * classes + each)
        for each in range(classes)
        for rank, box in enumerate(_chosen(attrs, boxes, scores[:, each], attrs.most_of_class))
    ]
    best = [place for *_, place in sorted(found)][: attrs.most]
    unused = [-1] * (attrs.most - len(best))
    return np.array([len(best), *best, *unused], np.int32)


def _chosen(attrs: Attrs, boxes: Array, scores: Array, most: int) -> list[int]:
    """Return numbers of boxes, the best first."""
    left = [
        int(box)
        for box in np.argsort(-scores, kind="stable")
        if scores[box] >= np.float32(attrs.score_threshold)
    ]
    chosen: list[int] = []
    while left and len(chosen) < most:
        box, *left = left
        chosen.append(box)
        limit = np.float32(attrs.iou_threshold)
        left = [each for each in left if not overlap(boxes[box], boxes[each]) > limit]
    return chosen


def overlap(one: Array, other: Array) -> np.float32:
    """Return the intersection of two boxes of float32 as a part of their union."""
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    if areas[0] <= 0 or areas[1] <= 0:
        return np.float32(0)
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    height, width = np.maximum(high - low, np.float32(0))
    both = np.float32(height * width)
    return np.float32(both / (areas[0] + areas[1] - both))
