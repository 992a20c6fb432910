"""Networks that find objects in pictures: boxes, key points, and each pixel's class.

The arguments are those of ``Topology``.
"""

from collections.abc import Sequence

import numpy as np

from benchmarks.tflite_zoo import functions as op
from benchmarks.tflite_zoo import layers as nn
from tvm_qnn.zoo import operators as common
from tvm_qnn.zoo.classifiers import MOBILENET_V2, stages
from tvm_qnn.zoo.graph import Graph, Scaled, Value

# Channels of the layers after the backbone: narrow, then wide at half of the height and width.
_EXTRA = ((256, 512), (128, 256), (128, 256), (64, 128))

_SMALLEST, _LARGEST = 0.2, 0.95  # sizes of boxes on the first and last map, as parts of the picture
_RATIOS = (1.0, 2.0, 1 / 2, 3.0, 1 / 3)  # of width to height


def ssd_mobilenet_v2(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add SSD with MobileNet V2: boxes at fixed positions, and the best of them.

    Liu et al., arXiv:1512.02325. The heads are those of Sandler et al., arXiv:1801.04381, with
    ordinary convolutions.

    Returns:
        The ten best boxes, their classes and scores, and their number.
    """
    x = common.Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(common.pictures(graph, size))
    made = stages(x, MOBILENET_V2, scaled)
    x = common.Conv(scaled(1280), (1, 1), activation="RELU6")(made[-1].output)
    maps = [made[5].expanded, x]
    for narrow, wide in _EXTRA:
        x = common.Conv(scaled(narrow), (1, 1), activation="RELU6")(x)
        x = common.Conv(scaled(wide), (3, 3), stride=2, activation="RELU6")(x)
        maps.append(x)
    shapes = [_box_shapes(number, len(maps)) for number in range(len(maps))]
    boxes, scores = [], []
    for each, of_map in zip(maps, shapes, strict=True):
        boxes.append(_boxes(each, len(of_map), 4))
        scores.append(_boxes(each, len(of_map), classes + 1))
    grids = [each.shape[1] for each in maps]
    chosen = op.Detect(_anchors(grids, shapes))
    return list(chosen.outputs(common.Concat(1)(*boxes), op.Logistic()(common.Concat(1)(*scores))))


def _boxes(x: Value, boxes: int, values: int) -> Value:
    """Return [1, places, values] for a number of boxes at each pixel."""
    return op.Reshape((-1, values))(common.Conv(boxes * values, (1, 1), activation="NONE")(x))


def _box_shapes(number: int, maps: int) -> list[tuple[float, float]]:
    """Return the height and width of each box at a pixel of a map, as parts of the picture."""
    step = (_LARGEST - _SMALLEST) / (maps - 1)
    scale = _SMALLEST + step * number
    if number == 0:  # many pixels, few boxes
        return [(0.1, 0.1), *(_shape(scale, ratio) for ratio in _RATIOS[1:3])]
    following = scale + step if number < maps - 1 else 1.0
    return [*(_shape(scale, ratio) for ratio in _RATIOS), _shape((scale * following) ** 0.5, 1.0)]


def _shape(scale: float, ratio: float) -> tuple[float, float]:
    return scale / ratio**0.5, scale * ratio**0.5


def _anchors(grids: Sequence[int], shapes: Sequence[Sequence[tuple[float, float]]]) -> np.ndarray:
    """Return the centre y and x, height and width of every box, in the order of the heads."""
    anchors = []
    for grid, of_map in zip(grids, shapes, strict=True):
        centres = (np.indices((grid, grid)).reshape(2, -1).T[:, None] + 0.5) / grid
        both = np.broadcast_arrays(centres, np.array(of_map)[None])
        anchors.append(np.concatenate(both, -1).reshape(-1, 4))
    return np.concatenate(anchors).astype(np.float32)


_BINS = 16  # of the distribution of the distance from a box's centre to a side
_STRIDES = (8, 16, 32)


def yolov8n(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add YOLOv8, nano: boxes and classes at three scales, with boxes as distributions.

    Jocher et al., 2023.

    Returns:
        Boxes and scores, [1, 4 + classes, places]: the centre, width and height of each box as
        parts of the picture, and the score of each class.
    """
    x = _swish_conv(common.pictures(graph, size), scaled(16), 3, 2)
    x = _cross_stage(_swish_conv(x, scaled(32), 3, 2), scaled(32), 1)
    fine = x = _cross_stage(_swish_conv(x, scaled(64), 3, 2), scaled(64), 2)
    middle = x = _cross_stage(_swish_conv(x, scaled(128), 3, 2), scaled(128), 2)
    x = _cross_stage(_swish_conv(x, scaled(256), 3, 2), scaled(256), 1)
    coarse = _pooled(x, scaled(256))
    x = common.Concat()(op.ResizeNearest()(coarse), middle)
    middle = _cross_stage(x, scaled(128), 1, residual=False)
    x = common.Concat()(op.ResizeNearest()(middle), fine)
    fine = _cross_stage(x, scaled(64), 1, residual=False)
    x = common.Concat()(_swish_conv(fine, scaled(64), 3, 2), middle)
    middle = _cross_stage(x, scaled(128), 1, residual=False)
    x = common.Concat()(_swish_conv(middle, scaled(128), 3, 2), coarse)
    coarse = _cross_stage(x, scaled(256), 1, residual=False)
    heads = [_yolo_head(each, classes, scaled) for each in (fine, middle, coarse)]
    grids = [each.shape[1] for each in (fine, middle, coarse)]
    return [_detections(common.Concat(1)(*heads), grids, size, classes)]


def _swish_conv(x: Value, channels: int, kernel: int, stride: int = 1) -> Value:
    """Return a convolution and its sigmoid linear unit, y · sigmoid(y)."""
    padding = "SAME"
    if stride > 1:  # SAME would only pad after the last pixel
        x, padding = op.Pad(1, 1)(x), "VALID"
    y = common.Conv(channels, (kernel, kernel), stride, padding, "NONE")(x)
    return op.Mul()(y, op.Logistic()(y))


def _cross_stage(x: Value, channels: int, blocks: int, *, residual: bool = True) -> Value:
    """Convolve half of the channels several times, and join all intermediate results."""
    parts = list(op.Split(2).outputs(_swish_conv(x, channels, 1)))
    for _ in range(blocks):
        y = _swish_conv(parts[-1], channels // 2, 3)
        y = _swish_conv(y, channels // 2, 3)
        parts.append(common.Add()(parts[-1], y) if residual else y)
    return _swish_conv(common.Concat()(*parts), channels, 1)


def _pooled(x: Value, channels: int) -> Value:
    """Join the maxima of larger and larger windows."""
    parts = [_swish_conv(x, channels // 2, 1)]
    for _ in range(3):
        parts.append(common.MaxPool(5, 1, "SAME")(parts[-1]))
    return _swish_conv(common.Concat()(*parts), channels, 1)


def _yolo_head(x: Value, classes: int, scaled: Scaled) -> Value:
    """Return [1, places, 4 · _BINS + classes]: logits of the distances, and of the classes."""
    distances, scores = scaled(64), scaled(max(64, min(classes, 100)))
    box = _swish_conv(_swish_conv(x, distances, 3), distances, 3)
    box = common.Conv(4 * _BINS, (1, 1), activation="NONE")(box)
    score = _swish_conv(_swish_conv(x, scores, 3), scores, 3)
    score = common.Conv(classes, (1, 1), activation="NONE")(score)
    return op.Reshape((-1, 4 * _BINS + classes))(common.Concat()(box, score))


def _detections(x: Value, grids: list[int], size: int, classes: int) -> Value:
    places = x.shape[1]
    logits = op.Slice((0, 0), (places, 4 * _BINS))(x)
    scores = op.Slice((0, 4 * _BINS), (places, classes))(x)
    shares = common.Softmax()(op.Reshape((places, 4, _BINS))(logits))
    distances = op.Reshape((places, 4))(nn.Expectation()(shares))
    before, after = op.Split(2, 2).outputs(distances)
    centres, strides = _centres(grids)
    first = op.Sub()(nn.constant(x.graph, centres), before)
    last = common.Add()(nn.constant(x.graph, centres), after)
    middle = op.Mul()(common.Add()(first, last), nn.constant(x.graph, np.array(0.5)))
    boxes = common.Concat(2)(middle, op.Sub()(last, first))
    boxes = op.Mul()(boxes, nn.constant(x.graph, strides / size))
    return op.Transpose((0, 2, 1))(common.Concat(2)(boxes, op.Logistic()(scores)))


def _centres(grids: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre of each position [1, places, 2], x and y, and its stride [1, places, 1]."""
    centres, strides = [], []
    for grid, stride in zip(grids, _STRIDES, strict=True):
        y, x = np.mgrid[:grid, :grid]
        centres.append(np.stack([x, y], -1).reshape(1, -1, 2) + 0.5)
        strides.append(np.full((1, grid * grid, 1), float(stride)))
    return np.concatenate(centres, 1), np.concatenate(strides, 1)


_POINTS = 17
_PYRAMID = (64, 32, 24)  # channels, from the coarsest map on
_NEAR = 1.8  # pixels, added to each distance so that none is 0


def movenet(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add MoveNet, lightning: a person's 17 key points, after CenterNet.

    Zhou et al., arXiv:1904.07850. The backbone is MobileNet V2 with a feature pyramid. After the
    heads, float32 operators find the points.

    Returns:
        The points, float32 [1, 1, 17, 3]: y and x as parts of the picture, and a score.
    """
    x = common.Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(common.pictures(graph, size))
    made = stages(x, MOBILENET_V2, scaled)
    x = common.Conv(scaled(_PYRAMID[0]), (1, 1))(made[6].output)
    for channels, stage in zip(_PYRAMID, (4, 2, 1), strict=True):
        beside = common.Conv(x.shape[3], (1, 1))(made[stage].output)
        x = common.Add()(op.ResizeBilinear()(x), beside)
        x = common.Conv(scaled(channels), (1, 1))(common.Depthwise((3, 3), activation="NONE")(x))
    centres, regressions, heatmaps, offsets = (
        _movenet_head(x, scaled(96), channels)
        for channels in (1, 2 * _POINTS, _POINTS, 2 * _POINTS)
    )
    points = _rough_points(op.Logistic()(centres), regressions)
    return [_points(op.Logistic()(heatmaps), offsets, points)]


def _movenet_head(x: Value, between: int, channels: int) -> Value:
    x = common.Conv(between, (1, 1))(common.Depthwise((3, 3), activation="NONE")(x))
    return common.Conv(channels, (1, 1), activation="NONE")(x)


def _rough_points(centres: Value, regressions: Value) -> Value:
    """Return y and x of the points in pixels, predicted from the person's centre: [1, 17, 2]."""
    grid = centres.shape[1]
    distance = np.hypot(*(np.mgrid[:grid, :grid] - (grid - 1) / 2))
    weights = nn.constant(centres.graph, (_NEAR / (distance + _NEAR)).reshape(1, grid, grid, 1))
    places = op.ArgMax(1)(op.Reshape((-1, 1))(op.Mul()(centres, weights)))
    y, x = _coordinates(places, grid)
    none = nn.constant(centres.graph, np.zeros((1, 1)), "int32")
    gathered = op.GatherNd()(regressions, op.Pack()(none, y, x))
    relative = op.Dequantize()(op.Reshape((_POINTS, 2))(gathered))
    return common.Add()(relative, op.Cast()(op.Pack()(y, x)))


def _points(heatmaps: Value, offsets: Value, rough: Value) -> Value:
    """Return the points: the highest value of each heatmap near the rough point."""
    graph, grid = heatmaps.graph, heatmaps.shape[1]
    squares = []
    for axis, places in enumerate(np.mgrid[:grid, :grid]):
        along = op.Reshape((1, _POINTS))(op.Slice((0, axis), (_POINTS, 1))(rough))
        difference = op.Sub()(nn.constant(graph, places.reshape(1, -1, 1), "float32"), along)
        squares.append(op.Mul()(difference, difference))
    distance = op.Sqrt()(common.Add()(*squares))
    distance = common.Add()(distance, nn.constant(graph, np.array(_NEAR), "float32"))
    heat = op.Dequantize()(op.Reshape((-1, _POINTS))(heatmaps))
    y, x = _coordinates(op.ArgMax(1)(op.Div()(heat, distance)), grid)
    none = nn.constant(graph, np.zeros((1, _POINTS)), "int32")
    number = nn.constant(graph, np.arange(_POINTS)[None], "int32")
    places = op.Pack()(none, y, x, number)
    offset = op.GatherNd()(op.Reshape((grid, grid, _POINTS, 2))(offsets), places)
    exact = common.Add()(op.Cast()(op.Pack()(y, x)), op.Dequantize()(offset))
    shares = op.Mul()(exact, nn.constant(graph, np.array(1 / grid), "float32"))
    scores = op.Reshape((_POINTS, 1))(op.Dequantize()(op.GatherNd()(heatmaps, places)))
    return op.Reshape((1, _POINTS, 3))(common.Concat(2)(shares, scores))


def _coordinates(places: Value, grid: int) -> tuple[Value, Value]:
    """Return y and x of indices into the rows of a grid."""
    width = nn.constant(places.graph, np.array(grid), "int32")
    y = op.FloorDiv()(places, width)
    return y, op.Sub()(places, op.Mul()(y, width))


_CHANNELS = (32, 64, 128, 256)
_DEEPEST = 512


def unet(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add U-Net: each pixel's class, from smaller and smaller pictures and back.

    Ronneberger et al., arXiv:1505.04597. It is half as wide as published, with SAME padding and
    four classes.

    Returns:
        The probabilities of each pixel, [1, size, size, classes].
    """
    x = common.pictures(graph, size)
    skipped = []
    for channels in _CHANNELS:
        skipped.append(_twice(x, scaled(channels)))
        x = common.MaxPool(2, 2)(skipped[-1])
    x = _twice(x, scaled(_DEEPEST))
    for channels, skip in zip(reversed(_CHANNELS), reversed(skipped), strict=True):
        x = common.Concat()(skip, nn.TransposeConv(scaled(channels))(x))
        x = _twice(x, scaled(channels))
    return [common.Softmax()(common.Conv(classes, (1, 1), activation="NONE")(x))]


def _twice(x: Value, channels: int) -> Value:
    return common.Conv(channels, (3, 3))(common.Conv(channels, (3, 3))(x))
