"""Inception V3: 94 convolutions, no auxiliary head. Szegedy et al., arXiv:1512.00567."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators.inputs import pictures
from tvm_qnn.zoo.operators.layers import Classify, Conv
from tvm_qnn.zoo.operators.moves import Concat
from tvm_qnn.zoo.operators.pools import AvgPool, MaxPool, Mean, Softmax

# (channels, kernel height, kernel width); stride 1 and SAME padding
_Layer = tuple[int, int, int]


def inception_v3(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph. Its arguments and results are those of `Topology`."""
    x = _stem(pictures(graph, size), scaled)
    for pool_channels in (32, 64, 64):
        x = _mixed_35(x, scaled, pool_channels)
    x = _reduce_35_to_17(x, scaled)
    for channels in (128, 160, 160, 192):
        x = _mixed_17(x, scaled, channels)
    x = _reduce_17_to_8(x, scaled)
    for _ in range(2):
        x = _mixed_8(x, scaled)
    return [Softmax()(Classify(classes)(Mean()(x)))]


def _chain(x: Value, scaled: Scaled, *layers: _Layer) -> Value:
    for channels, height, width in layers:
        x = Conv(scaled(channels), (height, width))(x)
    return x


def _shrink(x: Value, scaled: Scaled, channels: int) -> Value:
    return Conv(scaled(channels), (3, 3), stride=2, padding="VALID")(x)


def _stem(x: Value, scaled: Scaled) -> Value:
    x = _shrink(x, scaled, 32)
    x = Conv(scaled(32), (3, 3), padding="VALID")(x)
    x = Conv(scaled(64), (3, 3))(x)
    x = MaxPool(size=3, stride=2)(x)
    x = Conv(scaled(80), (1, 1), padding="VALID")(x)
    x = Conv(scaled(192), (3, 3), padding="VALID")(x)
    return MaxPool(size=3, stride=2)(x)


def _mixed_35(x: Value, scaled: Scaled, pool_channels: int) -> Value:
    pooled = AvgPool(size=3, stride=1, padding="SAME")(x)
    return Concat()(
        _chain(x, scaled, (64, 1, 1)),
        _chain(x, scaled, (48, 1, 1), (64, 5, 5)),
        _chain(x, scaled, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
        _chain(pooled, scaled, (pool_channels, 1, 1)),
    )


def _reduce_35_to_17(x: Value, scaled: Scaled) -> Value:
    double = _chain(x, scaled, (64, 1, 1), (96, 3, 3))
    return Concat()(
        _shrink(x, scaled, 384),
        _shrink(double, scaled, 96),
        MaxPool(size=3, stride=2)(x),
    )


def _mixed_17(x: Value, scaled: Scaled, n: int) -> Value:
    pooled = AvgPool(size=3, stride=1, padding="SAME")(x)
    return Concat()(
        _chain(x, scaled, (192, 1, 1)),
        _chain(x, scaled, (n, 1, 1), (n, 1, 7), (192, 7, 1)),
        _chain(x, scaled, (n, 1, 1), (n, 7, 1), (n, 1, 7), (n, 7, 1), (192, 1, 7)),
        _chain(pooled, scaled, (192, 1, 1)),
    )


def _reduce_17_to_8(x: Value, scaled: Scaled) -> Value:
    single = _chain(x, scaled, (192, 1, 1))
    double = _chain(x, scaled, (192, 1, 1), (192, 1, 7), (192, 7, 1))
    return Concat()(
        _shrink(single, scaled, 320),
        _shrink(double, scaled, 192),
        MaxPool(size=3, stride=2)(x),
    )


def _mixed_8(x: Value, scaled: Scaled) -> Value:
    single = _chain(x, scaled, (384, 1, 1))
    double = _chain(x, scaled, (448, 1, 1), (384, 3, 3))
    pooled = AvgPool(size=3, stride=1, padding="SAME")(x)
    return Concat()(
        _chain(x, scaled, (320, 1, 1)),
        _fork(single, scaled),
        _fork(double, scaled),
        _chain(pooled, scaled, (192, 1, 1)),
    )


def _fork(x: Value, scaled: Scaled) -> Value:
    return Concat()(_chain(x, scaled, (384, 1, 3)), _chain(x, scaled, (384, 3, 1)))
