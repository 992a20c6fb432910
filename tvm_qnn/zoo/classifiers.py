"""Classifiers of pictures; arguments and results are those of ``Topology``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tvm_qnn.zoo import operators as op
from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import Classify, Conv, Depthwise, pictures

# (channels, kernel height, kernel width); stride 1 and SAME padding
_Layer = tuple[int, int, int]

_TOWERS_35 = (((64, 1, 1),), ((48, 1, 1), (64, 5, 5)), ((64, 1, 1), (96, 3, 3), (96, 3, 3)))


def inception_v3(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add Inception V3: 94 convolutions, no auxiliary head. Szegedy et al., arXiv:1512.00567."""
    x = _stem(pictures(graph, size), scaled)
    for pooled in (32, 64, 64):
        x = _mixed(x, scaled, pooled, *_TOWERS_35)
    x = _reduce_35_to_17(x, scaled)
    for n in (128, 160, 160, 192):
        long = ((n, 1, 1), (n, 7, 1), (n, 1, 7), (n, 7, 1), (192, 1, 7))
        x = _mixed(x, scaled, 192, [(192, 1, 1)], ((n, 1, 1), (n, 1, 7), (192, 7, 1)), long)
    x = _reduce_17_to_8(x, scaled)
    for _ in range(2):
        x = _mixed_8(x, scaled)
    return [op.Softmax()(Classify(classes)(op.Mean()(x)))]


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
    x = op.MaxPool(size=3, stride=2)(x)
    x = Conv(scaled(80), (1, 1), padding="VALID")(x)
    x = Conv(scaled(192), (3, 3), padding="VALID")(x)
    return op.MaxPool(size=3, stride=2)(x)


def _mixed(x: Value, scaled: Scaled, pooled: int, *towers: Sequence[_Layer]) -> Value:
    """Join towers of layers, and an average with ``pooled`` channels after it."""
    average = op.AvgPool(size=3, stride=1, padding="SAME")(x)
    parts = [_chain(x, scaled, *tower) for tower in towers]
    return op.Concat()(*parts, _chain(average, scaled, (pooled, 1, 1)))


def _reduce_35_to_17(x: Value, scaled: Scaled) -> Value:
    double = _chain(x, scaled, (64, 1, 1), (96, 3, 3))
    parts = _shrink(x, scaled, 384), _shrink(double, scaled, 96)
    return op.Concat()(*parts, op.MaxPool(size=3, stride=2)(x))


def _reduce_17_to_8(x: Value, scaled: Scaled) -> Value:
    single = _chain(x, scaled, (192, 1, 1))
    double = _chain(x, scaled, (192, 1, 1), (192, 1, 7), (192, 7, 1))
    parts = _shrink(single, scaled, 320), _shrink(double, scaled, 192)
    return op.Concat()(*parts, op.MaxPool(size=3, stride=2)(x))


def _mixed_8(x: Value, scaled: Scaled) -> Value:
    single = _chain(x, scaled, (384, 1, 1))
    double = _chain(x, scaled, (448, 1, 1), (384, 3, 3))
    pooled = op.AvgPool(size=3, stride=1, padding="SAME")(x)
    return op.Concat()(
        _chain(x, scaled, (320, 1, 1)),
        _fork(single, scaled),
        _fork(double, scaled),
        _chain(pooled, scaled, (192, 1, 1)),
    )


def _fork(x: Value, scaled: Scaled) -> Value:
    return op.Concat()(_chain(x, scaled, (384, 1, 3)), _chain(x, scaled, (384, 3, 1)))


# (channels of the bottleneck, blocks, stride of the first block)
_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
_EXPANSION = 4


def resnet50(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add ResNet-50, version 1.5, whose strides are on 3x3 layers. He et al., arXiv:1512.03385."""
    x = Conv(scaled(64), (7, 7), stride=2)(pictures(graph, size))
    x = op.MaxPool(size=3, stride=2, padding="SAME")(x)
    for channels, blocks, first_stride in _STAGES:
        narrow, wide = scaled(channels), scaled(channels * _EXPANSION)
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = Conv(narrow, (1, 1))(x)
            y = Conv(narrow, (3, 3), stride)(y)
            y = Conv(wide, (1, 1), activation="NONE")(y)
            shortcut = x if block > 0 else Conv(wide, (1, 1), stride, activation="NONE")(x)
            x = op.Add("RELU")(shortcut, y)
    return [op.Softmax()(Classify(classes)(op.Mean()(x)))]


class Row(NamedTuple):
    """Blocks that follow one another.

    Attributes:
        expansion: the channels inside a block, as a multiple of the channels before it.
        channels: the outputs' channels.
        repetitions: the number of blocks.
        stride: the first block's stride.
        kernel: height and width of the depthwise convolutions.
    """

    expansion: int
    channels: int
    repetitions: int
    stride: int
    kernel: int = 3


@dataclass(frozen=True)
class Stage:
    """The results of a row of blocks.

    Attributes:
        expanded: the wide values inside the first block, before its stride.
        output: the output of the last block.
    """

    expanded: Value
    output: Value


MOBILENET_V2 = (
    Row(1, 16, 1, 1), Row(6, 24, 2, 2), Row(6, 32, 3, 2), Row(6, 64, 4, 2),
    Row(6, 96, 3, 1), Row(6, 160, 3, 2), Row(6, 320, 1, 1),
)  # fmt: skip


def stages(x: Value, rows: Sequence[Row], scaled: Scaled) -> list[Stage]:
    """Add rows of blocks, and return the results of each."""
    made = []
    for row in rows:
        channels = scaled(row.channels)
        expanded = []
        for repetition in range(row.repetitions):
            y = x
            if row.expansion > 1:
                y = Conv(x.shape[3] * row.expansion, (1, 1), activation="RELU6")(y)
            expanded.append(y)
            y = Depthwise((row.kernel, row.kernel), row.stride if repetition == 0 else 1)(y)
            y = Conv(channels, (1, 1), activation="NONE")(y)
            x = op.Add()(x, y) if repetition > 0 else y
        made.append(Stage(expanded[0], x))
    return made


# (channels, stride of the depthwise convolution)
_MOBILENET_V1 = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip


def mobilenet_v1(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add MobileNet V1: depthwise separable convolutions. Howard et al., arXiv:1704.04861."""
    x = Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(pictures(graph, size))
    for channels, stride in _MOBILENET_V1:
        x = Depthwise((3, 3), stride)(x)
        x = Conv(scaled(channels), (1, 1), activation="RELU6")(x)
    return [op.Softmax()(Classify(classes)(op.Mean()(x)))]


def inverted_residuals(x: Value, rows: Sequence[Row], scaled: Scaled) -> Value:
    """Add MobileNet V2 without its end, with other rows of blocks."""
    x = Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(x)
    x = stages(x, rows, scaled)[-1].output
    return Conv(scaled(1280), (1, 1), activation="RELU6")(x)


def mobilenet_v2(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add MobileNet V2: inverted residuals. Sandler et al., arXiv:1801.04381."""
    x = inverted_residuals(pictures(graph, size), MOBILENET_V2, scaled)
    return [op.Softmax()(Classify(classes)(op.Mean()(x)))]
