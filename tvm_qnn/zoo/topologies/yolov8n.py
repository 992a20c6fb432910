"""YOLOv8, nano: boxes and classes on three scales, boxes as distributions. Jocher et al., 2023."""

from __future__ import annotations

import numpy as np

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators.functions import Add, Logistic, Mul, Sub
from tvm_qnn.zoo.operators.inputs import constant, pictures
from tvm_qnn.zoo.operators.layers import Conv, Expectation
from tvm_qnn.zoo.operators.moves import Concat, Pad, Reshape, Slice, Split, Transpose
from tvm_qnn.zoo.operators.pools import MaxPool, ResizeNearest, Softmax

_BINS = 16  # of the distribution of a box's distance from its centre to a side
_STRIDES = (8, 16, 32)


def yolov8n(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Its arguments are those of `Topology`.

    Returns:
        Boxes and scores, [1, 4 + classes, places]: the centre, width and height of each box as
        shares of the picture, and the score of each class.
    """
    x = _conv(pictures(graph, size), scaled(16), 3, 2)
    x = _cross_stage(_conv(x, scaled(32), 3, 2), scaled(32), 1)
    fine = x = _cross_stage(_conv(x, scaled(64), 3, 2), scaled(64), 2)
    middle = x = _cross_stage(_conv(x, scaled(128), 3, 2), scaled(128), 2)
    x = _cross_stage(_conv(x, scaled(256), 3, 2), scaled(256), 1)
    coarse = _pooled(x, scaled(256))
    x = Concat()(ResizeNearest()(coarse), middle)
    middle = _cross_stage(x, scaled(128), 1, residual=False)
    x = Concat()(ResizeNearest()(middle), fine)
    fine = _cross_stage(x, scaled(64), 1, residual=False)
    x = Concat()(_conv(fine, scaled(64), 3, 2), middle)
    middle = _cross_stage(x, scaled(128), 1, residual=False)
    x = Concat()(_conv(middle, scaled(128), 3, 2), coarse)
    coarse = _cross_stage(x, scaled(256), 1, residual=False)
    heads = [_head(each, classes, scaled) for each in (fine, middle, coarse)]
    grids = [each.shape[1] for each in (fine, middle, coarse)]
    return [_detections(Concat(1)(*heads), grids, size, classes)]


def _conv(x: Value, channels: int, kernel: int, stride: int = 1) -> Value:
    """Return a convolution and its sigmoid linear unit, y · sigmoid(y)."""
    padding = "SAME"
    if stride > 1:  # SAME would pad after the last pixel alone
        x, padding = Pad(1, 1)(x), "VALID"
    y = Conv(channels, (kernel, kernel), stride, padding, "NONE")(x)
    return Mul()(y, Logistic()(y))


def _cross_stage(x: Value, channels: int, blocks: int, *, residual: bool = True) -> Value:
    """Convolve half of the channels further and further, and join all that came about."""
    parts = list(Split(2).outputs(_conv(x, channels, 1)))
    for _ in range(blocks):
        y = _conv(parts[-1], channels // 2, 3)
        y = _conv(y, channels // 2, 3)
        parts.append(Add()(parts[-1], y) if residual else y)
    return _conv(Concat()(*parts), channels, 1)


def _pooled(x: Value, channels: int) -> Value:
    """Join ever larger maxima."""
    parts = [_conv(x, channels // 2, 1)]
    for _ in range(3):
        parts.append(MaxPool(5, 1, "SAME")(parts[-1]))
    return _conv(Concat()(*parts), channels, 1)


def _head(x: Value, classes: int, scaled: Scaled) -> Value:
    """Return [1, places, 4 · _BINS + classes]: logits of the distances, and of the classes."""
    distances, scores = scaled(64), scaled(max(64, min(classes, 100)))
    box = _conv(_conv(x, distances, 3), distances, 3)
    box = Conv(4 * _BINS, (1, 1), activation="NONE")(box)
    score = _conv(_conv(x, scores, 3), scores, 3)
    score = Conv(classes, (1, 1), activation="NONE")(score)
    return Reshape((-1, 4 * _BINS + classes))(Concat()(box, score))


def _detections(x: Value, grids: list[int], size: int, classes: int) -> Value:
    places = x.shape[1]
    logits = Slice((0, 0), (places, 4 * _BINS))(x)
    scores = Slice((0, 4 * _BINS), (places, classes))(x)
    shares = Softmax()(Reshape((places, 4, _BINS))(logits))
    distances = Reshape((places, 4))(Expectation()(shares))
    before, after = Split(2, 2).outputs(distances)
    centres, strides = _centres(grids)
    first = Sub()(constant(x.graph, centres), before)
    last = Add()(constant(x.graph, centres), after)
    middle = Mul()(Add()(first, last), constant(x.graph, np.array(0.5)))
    boxes = Concat(2)(middle, Sub()(last, first))
    boxes = Mul()(boxes, constant(x.graph, strides / size))
    return Transpose((0, 2, 1))(Concat(2)(boxes, Logistic()(scores)))


def _centres(grids: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre [1, places, 2] of each place, x and y, and its stride [1, places, 1]."""
    centres, strides = [], []
    for grid, stride in zip(grids, _STRIDES, strict=True):
        y, x = np.mgrid[:grid, :grid]
        centres.append(np.stack([x, y], -1).reshape(1, -1, 2) + 0.5)
        strides.append(np.full((1, grid * grid, 1), float(stride)))
    return np.concatenate(centres, 1), np.concatenate(strides, 1)
