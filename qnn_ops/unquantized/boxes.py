"""A detector's boxes: decodes them from anchors, and selects them by their scores.

Source of the heaps: bits/stl_heap.h and bits/stl_algo.h of GCC, whose library LiteRT uses. A heap
is a list in which no element's children, at twice its index plus one and two, come before it in the
order.
"""

import math
from collections.abc import Callable

import numpy as np

from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.registry import Attrs, TensorSpec, operator
from qnn_ops.dialect.traits import FIXED
from qnn_ops.errors import QnnError

CORNERS = 4
"""The numbers of a box: the lowest y and x, the highest y and x."""


@operator(traits=FIXED, overflows=False)
def decode_boxes(
    encodings: declared.FloatMatrix,
    anchors: declared.FloatMatrix,
    y_scale: declared.Float,
    x_scale: declared.Float,
    h_scale: declared.Float,
    w_scale: declared.Float,
) -> None:
    """Turn boxes that are stated relative to anchors into corners.

    Source of the arithmetic: DecodeCenterSizeBoxes of TFLite's kernels/detection_postprocess.cc:
    centres and half sizes in float64, each rounded to float32, then sums and differences of these.

    Args:
        encodings: float32, [boxes, 4 or more]: y, x, height and width of each; other columns are
            not read.
        anchors: float32, [boxes, 4]: y, x, height and width of each.
        y_scale: the number that divides y.
        x_scale: the number that divides x.
        h_scale: the number that divides the logarithm of the height.
        w_scale: the number that divides the logarithm of the width.

    Returns:
        A call whose result is float32, [boxes, 4]: the lowest y and x, the highest y and x.
    """


@decode_boxes.type_rule
def _decode_boxes_type(attrs: Attrs, encodings: TensorSpec, anchors: TensorSpec) -> TensorSpec:
    boxes, size = encodings.shape
    if size < CORNERS:
        raise QnnError(f"encodings must have at least 4 numbers a box, got shape {encodings.shape}")
    if anchors.shape != (boxes, CORNERS):
        raise QnnError(f"anchors must have shape {(boxes, CORNERS)}, got {anchors.shape}")
    for name in ("y_scale", "x_scale", "h_scale", "w_scale"):
        value = getattr(attrs, name)
        if not math.isfinite(value) or value == 0:
            raise QnnError(f"{name} must be a number other than 0, got {value}")
    return TensorSpec((boxes, CORNERS), "float32")


@decode_boxes.reference
def _decode_boxes_reference(attrs: Attrs, encodings: Array, anchors: Array) -> Array:
    def columns(data: Array, first: int) -> Array:
        return data[..., first : first + CORNERS // 2].astype(np.float64)

    sizes = columns(anchors, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        distances = columns(encodings, 0) / np.array([attrs.y_scale, attrs.x_scale])
        # A bound far outside float32 keeps compilers from making one fused multiply-add of the two.
        centres = np.clip(distances * sizes, -1e300, 1e300) + columns(anchors, 0)
        growths = np.exp(columns(encodings, 2) / np.array([attrs.h_scale, attrs.w_scale]))
        centre, half = centres.astype(np.float32), (0.5 * growths * sizes).astype(np.float32)
        return np.concatenate([centre - half, centre + half], axis=1)


Before = Callable[[int, int], bool]
"""Whether the first element is to be farther from the top of the heap than the second."""


def first_in_order(values: Array, count: int) -> list[int]:
    """Return the indices of the largest values, in falling order: std::partial_sort."""
    if count == 1:
        return [int(np.argmax(values))]
    indices = list(range(len(values)))

    def before(one: int, other: int) -> bool:
        return bool(values[one] > values[other])

    for parent in reversed(range(count // 2)):
        sift(indices, parent, count, indices[parent], before)
    for each in range(count, len(indices)):
        if before(indices[each], indices[0]):
            value, indices[each] = indices[each], indices[0]
            sift(indices, 0, count, value, before)
    for last in reversed(range(1, count)):
        value, indices[last] = indices[last], indices[0]
        sift(indices, 0, last, value, before)
    return indices[:count]


def push(heap: list[int], value: int, before: Before) -> None:
    """Add an element: std::push_heap."""
    heap.append(value)
    rise(heap, len(heap) - 1, 0, value, before)


def pop(heap: list[int], before: Before) -> int:
    """Take the top element off: std::pop_heap."""
    top, value = heap[0], heap.pop()
    if heap:
        sift(heap, 0, len(heap), value, before)
    return top


def sift(heap: list[int], hole: int, size: int, value: int, before: Before) -> None:
    """Put an element into a heap with a hole at ``hole``: std::__adjust_heap."""
    top, child = hole, hole
    while child < (size - 1) // 2:
        child = 2 * child + 2
        if before(heap[child], heap[child - 1]):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    rise(heap, hole, top, value, before)


def rise(heap: list[int], hole: int, top: int, value: int, before: Before) -> None:
    """Let an element rise from a hole, at most to ``top``: std::__push_heap."""
    while hole > top and before(heap[(hole - 1) // 2], value):
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = value


_MOST = 1 << 31


@operator(traits=FIXED, overflows=False)
def select_boxes(
    boxes: declared.FloatMatrix,
    scores: declared.FloatMatrix,
    by_class: declared.Flag,
    most: declared.Int,
    most_of_class: declared.Int,
    classes_per_box: declared.Int,
    score_threshold: declared.Float,
    iou_threshold: declared.Float,
) -> None:
    """Choose boxes by their scores, without those that overlap a better one.

    Among equal scores the box of the lower number comes first; if boxes are chosen by class, the
    lower class. std::partial_sort of libstdc++ orders equal classes of one box.

    Source of the arithmetic: TFLite's kernels/detection_postprocess.cc, on one thread.

    Args:
        boxes: float32, [boxes, 4]: the lowest y and x, the highest y and x.
        scores: float32, [boxes, classes].
        by_class: whether boxes of different classes may overlap; otherwise a box counts once, with
            its best score, and is returned with its best classes.
        most: how many boxes to choose.
        most_of_class: how many boxes of one class to choose; read only with ``by_class``.
        classes_per_box: how many classes of a box to return; read only without ``by_class``.
        score_threshold: the lowest score that counts.
        iou_threshold: two boxes overlap if their intersection is a larger part of their union.

    Returns:
        A call whose result is int32, [1 + most], or [1 + most * classes_per_box] without
        ``by_class``: the number of chosen boxes; then for each its number times the number of
        classes, plus its class's number; -1 for missing boxes.
    """


@select_boxes.type_rule
def _select_boxes_type(attrs: Attrs, boxes: TensorSpec, scores: TensorSpec) -> TensorSpec:
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


@select_boxes.reference
def _select_boxes_reference(attrs: Attrs, boxes: Array, scores: Array) -> Array:
    return _by_class(attrs, boxes, scores) if attrs.by_class else _of_all(attrs, boxes, scores)


def _of_all(attrs: Attrs, boxes: Array, scores: Array) -> Array:
    classes = scores.shape[1]
    chosen = _chosen(attrs, boxes, scores.max(axis=1), attrs.most)
    indices = np.full((attrs.most, attrs.classes_per_box), -1, np.int32)
    for row, box in enumerate(chosen):
        best = first_in_order(scores[box], min(attrs.classes_per_box, classes))
        indices[row, : len(best)] = [box * classes + each for each in best]
    return np.concatenate([np.array([len(chosen)], np.int32), indices.ravel()])


def _by_class(attrs: Attrs, boxes: Array, scores: Array) -> Array:
    classes = scores.shape[1]
    found = [
        (-float(scores[box, each]), each, rank, box * classes + each)
        for each in range(classes)
        for rank, box in enumerate(_chosen(attrs, boxes, scores[:, each], attrs.most_of_class))
    ]
    best = [index for *_, index in sorted(found)][: attrs.most]
    unused = [-1] * (attrs.most - len(best))
    return np.array([len(best), *best, *unused], np.int32)


def _chosen(attrs: Attrs, boxes: Array, scores: Array, most: int) -> list[int]:
    """Return the numbers of the chosen boxes, the best first."""
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
