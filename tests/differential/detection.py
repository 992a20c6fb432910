"""Steps at which a detector chooses boxes; no further operators read their results."""

from math import prod

import numpy as np

from tests.differential.graphs import Graph, Value, step

_MOST = 400


def _reals(graph: Graph, value: Value) -> Value:
    result = graph.tensor(value.shape, "float32", None)
    graph.operator("DEQUANTIZE", [value.index], result)
    return result


def _reshaped(graph: Graph, value: Value, shape: tuple[int, ...]) -> Value:
    result = graph.tensor(shape, value.dtype, value.encoding)
    graph.operator("RESHAPE", [value.index, graph.constant(np.array(shape))], result)
    return result


@step(int16=True)
def suppress(graph: Graph, value: Value) -> Value | None:
    """Choose among boxes by scores, many of them equal."""
    count = prod(value.shape)
    if not 0 < count <= _MOST:
        return None
    scores = _reshaped(graph, _reals(graph, value), (count,))
    corners = graph.aside(graph.rng.integers(0, 9, (count, 4)).astype(np.float32))
    most = int(graph.rng.integers(1, count + 3))
    numbers = [np.int32(most), np.float32(0.4), np.float32(0.0)]
    places = graph.tensor([most], "int32", None)
    number = graph.tensor([], "int32", None)
    if graph.chance(0.5):
        operands = [corners, scores.index, *map(graph.constant, numbers)]
        graph.operator("NON_MAX_SUPPRESSION_V4", operands, places, number)
        return value
    operands = [corners, scores.index, *map(graph.constant, [*numbers, np.float32(0)])]
    values = graph.tensor([most], "float32", None)
    graph.operator("NON_MAX_SUPPRESSION_V5", operands, places, values, number)
    return value


@step(int16=True)
def detect(graph: Graph, value: Value) -> Value | None:
    """Choose by class: where there are fewer boxes LiteRT leaves what memory holds else."""
    count = prod(value.shape)
    if not 0 < count <= _MOST:
        return None
    classes = int(graph.rng.choice([size for size in (1, 2, 3, 5, 8) if count % size == 0]))
    scores = _reshaped(graph, _reals(graph, value), (1, count // classes, classes))
    boxes = graph.aside(graph.rng.normal(0, 3, (1, count // classes, 4)).astype(np.float32))
    anchors = graph.constant(graph.rng.random((count // classes, 4), np.float32))
    most = int(graph.rng.integers(1, 9))
    shapes = [[1, most, 4], [1, most], [1, most], [1]]
    graph.operator(
        "CUSTOM:TFLite_Detection_PostProcess",
        [boxes, scores.index, anchors],
        *(graph.tensor(shape, "float32", None) for shape in shapes),
        max_detections=most,
        max_classes_per_detection=1,
        detections_per_class=int(graph.rng.integers(1, 6)),
        use_regular_nms=True,
        nms_score_threshold=0.1,
        nms_iou_threshold=0.5,
        num_classes=max(classes - 1, 1),
        y_scale=10.0,
        x_scale=10.0,
        h_scale=5.0,
        w_scale=5.0,
    )
    return value
