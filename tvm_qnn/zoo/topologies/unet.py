"""U-Net: each pixel's class, by way of smaller pictures. Ronneberger et al., arXiv:1505.04597.

Half as wide as published, with SAME padding and four classes.
"""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators.inputs import pictures
from tvm_qnn.zoo.operators.layers import Conv, TransposeConv
from tvm_qnn.zoo.operators.moves import Concat
from tvm_qnn.zoo.operators.pools import MaxPool, Softmax

_CHANNELS = (32, 64, 128, 256)
_DEEPEST = 512


def unet(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Its arguments are those of `Topology`.

    Returns:
        The probabilities of each pixel, [1, size, size, classes].
    """
    x = pictures(graph, size)
    skipped = []
    for channels in _CHANNELS:
        skipped.append(_twice(x, scaled(channels)))
        x = MaxPool(2, 2)(skipped[-1])
    x = _twice(x, scaled(_DEEPEST))
    for channels, skip in zip(reversed(_CHANNELS), reversed(skipped), strict=True):
        x = Concat()(skip, TransposeConv(scaled(channels))(x))
        x = _twice(x, scaled(channels))
    return [Softmax()(Conv(classes, (1, 1), activation="NONE")(x))]


def _twice(x: Value, channels: int) -> Value:
    return Conv(channels, (3, 3))(Conv(channels, (3, 3))(x))
