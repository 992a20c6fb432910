"""MoveNet, lightning: a person's 17 key points, after CenterNet. Zhou et al., arXiv:1904.07850.

The backbone is MobileNet V2 with a feature pyramid; what follows the heads finds the points from
them, on float32.
"""

from __future__ import annotations

import numpy as np

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators.functions import (
    Add,
    Cast,
    Dequantize,
    Div,
    FloorDiv,
    Logistic,
    Mul,
    Sqrt,
    Sub,
)
from tvm_qnn.zoo.operators.inputs import constant, pictures
from tvm_qnn.zoo.operators.layers import Conv, Depthwise
from tvm_qnn.zoo.operators.moves import ArgMax, Concat, GatherNd, Pack, Reshape, Slice
from tvm_qnn.zoo.operators.pools import ResizeBilinear
from tvm_qnn.zoo.topologies.mobilenets import MOBILENET_V2, stages

_POINTS = 17
_PYRAMID = (64, 32, 24)  # channels, from the coarsest on
_NEAR = 1.8  # pixels that are added to a distance, so that none is 0


def movenet(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Its arguments are those of `Topology`.

    Returns:
        The points, float32 [1, 1, 17, 3]: y and x as shares of the picture, and a score.
    """
    x = Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(pictures(graph, size))
    made = stages(x, MOBILENET_V2, scaled)
    x = Conv(scaled(_PYRAMID[0]), (1, 1))(made[6].output)
    for channels, stage in zip(_PYRAMID, (4, 2, 1), strict=True):
        beside = Conv(x.shape[3], (1, 1))(made[stage].output)
        x = Add()(ResizeBilinear()(x), beside)
        x = Conv(scaled(channels), (1, 1))(Depthwise((3, 3), activation="NONE")(x))
    centres, regressions, heatmaps, offsets = (
        _head(x, scaled(96), channels) for channels in (1, 2 * _POINTS, _POINTS, 2 * _POINTS)
    )
    points = _rough_points(Logistic()(centres), regressions)
    return [_points(Logistic()(heatmaps), offsets, points)]


def _head(x: Value, between: int, channels: int) -> Value:
    x = Conv(between, (1, 1))(Depthwise((3, 3), activation="NONE")(x))
    return Conv(channels, (1, 1), activation="NONE")(x)


def _rough_points(centres: Value, regressions: Value) -> Value:
    """Return y and x of the points, in pixels, as the person's centre has them: [1, 17, 2]."""
    grid = centres.shape[1]
    distance = np.hypot(*(np.mgrid[:grid, :grid] - (grid - 1) / 2))
    weights = constant(centres.graph, (_NEAR / (distance + _NEAR)).reshape(1, grid, grid, 1))
    places = ArgMax(1)(Reshape((-1, 1))(Mul()(centres, weights)))
    y, x = _coordinates(places, grid)
    none = constant(centres.graph, np.zeros((1, 1)), "int32")
    gathered = GatherNd()(regressions, Pack()(none, y, x))
    relative = Dequantize()(Reshape((_POINTS, 2))(gathered))
    return Add()(relative, Cast()(Pack()(y, x)))


def _points(heatmaps: Value, offsets: Value, rough: Value) -> Value:
    """Return the points: where each heatmap is highest, near the rough point."""
    graph, grid = heatmaps.graph, heatmaps.shape[1]
    squares = []
    for axis, places in enumerate(np.mgrid[:grid, :grid]):
        along = Reshape((1, _POINTS))(Slice((0, axis), (_POINTS, 1))(rough))
        difference = Sub()(constant(graph, places.reshape(1, -1, 1), "float32"), along)
        squares.append(Mul()(difference, difference))
    distance = Sqrt()(Add()(*squares))
    distance = Add()(distance, constant(graph, np.array(_NEAR), "float32"))
    heat = Dequantize()(Reshape((-1, _POINTS))(heatmaps))
    y, x = _coordinates(ArgMax(1)(Div()(heat, distance)), grid)
    none = constant(graph, np.zeros((1, _POINTS)), "int32")
    number = constant(graph, np.arange(_POINTS)[None], "int32")
    places = Pack()(none, y, x, number)
    offset = GatherNd()(Reshape((grid, grid, _POINTS, 2))(offsets), places)
    exact = Add()(Cast()(Pack()(y, x)), Dequantize()(offset))
    shares = Mul()(exact, constant(graph, np.array(1 / grid), "float32"))
    scores = Reshape((_POINTS, 1))(Dequantize()(GatherNd()(heatmaps, places)))
    return Reshape((1, _POINTS, 3))(Concat(2)(shares, scores))


def _coordinates(places: Value, grid: int) -> tuple[Value, Value]:
    """Return y and x of places on a grid that is read in rows."""
    width = constant(places.graph, np.array(grid), "int32")
    y = FloorDiv()(places, width)
    return y, Sub()(places, Mul()(y, width))
