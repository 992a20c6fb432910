"""Chooses boxes by their scores, without those that overlap a better one."""

import math
from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError
from qnn_ops.unquantized.boxes import CORNERS, overlap, pop, push


@operator(traits=FIXED, overflows=False)
def suppress_boxes(
    boxes: declared.Floats,
    scores: declared.Floats,
    most: declared.Int,
    score_threshold: declared.Float,
    iou_threshold: declared.Float,
) -> None:
    """Choose boxes of one class by their scores, without those that overlap a better one.

    A chosen box stays among the candidates. Then it is dropped because it overlaps itself; but if
    its area is 0, it is chosen again. Equal scores have the order of libstdc++'s
    std::priority_queue.

    Source of the arithmetic: NonMaxSuppression of TFLite's
    kernels/internal/reference/non_max_suppression.h, without soft suppression.

    Args:
        boxes: float32, [boxes, 4]: any two opposite corners, y before x.
        scores: float32, [boxes].
        most: how many boxes to choose.
        score_threshold: only higher scores count.
        iou_threshold: two boxes overlap if their intersection is at least this part of their union.

    Returns:
        A call whose result is int32, [1 + most]: the number of chosen boxes, then their numbers,
        and 0 for missing boxes.
    """


@suppress_boxes.type_rule
def _suppress_boxes_type(attrs: Attrs, boxes: TensorSpec, scores: TensorSpec) -> TensorSpec:
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


@suppress_boxes.reference
def _suppress_boxes_reference(attrs: Attrs, boxes: Array, scores: Array) -> Array:
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


ROW = 3
"""The columns of a result's row: the numbers of an image, a class and a box."""


@operator(traits=FIXED, overflows=False)
def suppress_by_class(
    boxes: declared.Floats,
    scores: declared.Floats,
    count: Annotated[relax.Expr, declared.Tensor(("int64",))],
    limits: declared.Floats,
    most: declared.Int,
    has_centers: declared.Flag = False,
    takes_all: declared.Flag = False,
) -> None:
    """Choose boxes of each class by their scores, without those that overlap a better one.

    Equal scores have the order of their boxes.

    Source of the arithmetic: ONNX Runtime's core/providers/cpu/object_detection.

    Args:
        boxes: float32, [images, boxes, 4]: any two opposite corners, y before x; or centers, x
            before y, widths and heights.
        scores: float32, [images, classes, boxes], without NaN.
        count: int64, [1]: how many boxes to choose of each class of an image.
        limits: float32, [2]: two boxes overlap if their intersection is a larger part of their
            union than the first limit; only scores above the second limit count.
        most: the most boxes of a class, at most as many as there are boxes.
        has_centers: whether boxes are centers and sizes.
        takes_all: whether all scores count.

    Returns:
        A call whose result is int64, [1 + images · classes · most, 3]: in the first row the number
        of chosen boxes; then the image, class and box of each, and 0 for missing boxes.
    """


@suppress_by_class.type_rule
def _suppress_by_class_type(
    attrs: Attrs, boxes: TensorSpec, scores: TensorSpec, count: TensorSpec, limits: TensorSpec
) -> TensorSpec:
    fits = len(scores.shape) == ROW and 0 not in scores.shape
    if not fits or boxes.shape != (scores.shape[0], scores.shape[2], CORNERS):
        raise QnnError(
            "boxes must have shape (images, boxes, 4) and scores (images, classes, boxes), got "
            f"{boxes.shape} and {scores.shape}"
        )
    if (count.shape, limits.shape) != ((1,), (2,)):
        raise QnnError(f"count must have 1 number and limits 2, got {count.shape}, {limits.shape}")
    if not 0 <= attrs.most <= scores.shape[2]:
        raise QnnError(f"most must be from 0 to {scores.shape[2]}, got {attrs.most}")
    return TensorSpec((1 + scores.shape[0] * scores.shape[1] * attrs.most, ROW), "int64")


@suppress_by_class.reference
def _suppress_by_class_reference(
    attrs: Attrs, boxes: Array, scores: Array, count: Array, limits: Array
) -> Array:
    most = min(max(int(count[0]), 0), attrs.most)
    found: list[tuple[int, int, int]] = []
    for image, classes in enumerate(scores):
        ends = _ends(boxes[image], attrs.has_centers)
        for number, row in enumerate(classes):
            chosen: list[int] = []
            for box in np.argsort(-row, kind="stable"):
                if len(chosen) == most:
                    break
                if not attrs.takes_all and not row[box] > limits[1]:
                    continue
                if not any(_overlap(ends[box], ends[each], limits[0]) for each in chosen):
                    chosen.append(int(box))
            found += [(image, number, box) for box in chosen]
    result = np.zeros((1 + len(scores) * scores.shape[1] * attrs.most, ROW), np.int64)
    result[0] = len(found)
    result[1 : 1 + len(found)] = np.array(found, np.int64).reshape(-1, ROW)
    return result


def _ends(boxes: Array, has_centers: bool) -> Array:
    """Return the lower and the higher corner of each box."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if has_centers:
        half = second / np.float32(2)
        first, second = first - half, first + half
        return np.concatenate([first, second], 1)
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], 1)


def _overlap(one: Array, other: Array, limit: np.float32) -> bool:
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    sides = high - low
    both = sides[0] * sides[1]
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    union = areas[0] + areas[1] - both
    if min(*sides, both, *areas, union) <= 0:
        return False
    return bool(both / union > limit)
