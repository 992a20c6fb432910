"""SSD with MobileNet V2: boxes at fixed places, and the best of them. Liu et al., arXiv:1512.02325.

The heads are those of Sandler et al., arXiv:1801.04381, with ordinary convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvm_qnn.zoo.file import Array
from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators.detect import Detect
from tvm_qnn.zoo.operators.functions import Logistic
from tvm_qnn.zoo.operators.inputs import pictures
from tvm_qnn.zoo.operators.layers import Conv
from tvm_qnn.zoo.operators.moves import Concat, Reshape
from tvm_qnn.zoo.topologies.mobilenets import MOBILENET_V2, stages

# Channels of what follows the backbone: narrow, and then wide on half of the height and width.
_EXTRA = ((256, 512), (128, 256), (128, 256), (64, 128))

_SMALLEST, _LARGEST = 0.2, 0.95  # sizes of boxes on the first and last map, as shares
_RATIOS = (1.0, 2.0, 1 / 2, 3.0, 1 / 3)  # of width to height


def ssd_mobilenet_v2(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Its arguments are those of `Topology`.

    Returns:
        Boxes, their classes and scores, and their number, of the ten best.
    """
    x = Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(pictures(graph, size))
    made = stages(x, MOBILENET_V2, scaled)
    x = Conv(scaled(1280), (1, 1), activation="RELU6")(made[-1].output)
    maps = [made[5].expanded, x]
    for narrow, wide in _EXTRA:
        x = Conv(scaled(narrow), (1, 1), activation="RELU6")(x)
        x = Conv(scaled(wide), (3, 3), stride=2, activation="RELU6")(x)
        maps.append(x)
    shapes = [_box_shapes(number, len(maps)) for number in range(len(maps))]
    boxes, scores = [], []
    for each, of_map in zip(maps, shapes, strict=True):
        boxes.append(_head(each, len(of_map), 4))
        scores.append(_head(each, len(of_map), classes + 1))
    grids = [each.shape[1] for each in maps]
    chosen = Detect(_anchors(grids, shapes))
    return list(chosen.outputs(Concat(1)(*boxes), Logistic()(Concat(1)(*scores))))


def _head(x: Value, boxes: int, values: int) -> Value:
    """Return [1, places, values] of so many boxes at each pixel."""
    return Reshape((-1, values))(Conv(boxes * values, (1, 1), activation="NONE")(x))


def _box_shapes(number: int, maps: int) -> list[tuple[float, float]]:
    """Return the height and width of each box at a pixel of a map, as shares of the picture."""
    step = (_LARGEST - _SMALLEST) / (maps - 1)
    scale = _SMALLEST + step * number
    if number == 0:  # many places, few boxes
        return [(0.1, 0.1), *(_shape(scale, ratio) for ratio in _RATIOS[1:3])]
    following = scale + step if number < maps - 1 else 1.0
    return [*(_shape(scale, ratio) for ratio in _RATIOS), _shape((scale * following) ** 0.5, 1.0)]


def _shape(scale: float, ratio: float) -> tuple[float, float]:
    return scale / ratio**0.5, scale * ratio**0.5


def _anchors(grids: Sequence[int], shapes: Sequence[Sequence[tuple[float, float]]]) -> Array:
    """Return the centre y and x, height and width of every box, in the order of the heads."""
    anchors = []
    for grid, of_map in zip(grids, shapes, strict=True):
        centres = (np.indices((grid, grid)).reshape(2, -1).T[:, None] + 0.5) / grid
        both = np.broadcast_arrays(centres, np.array(of_map)[None])
        anchors.append(np.concatenate(both, -1).reshape(-1, 4))
    return np.concatenate(anchors).astype(np.float32)
