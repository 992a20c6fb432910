"""MobileNets and EfficientNet-Lite0; arguments and results are those of ``Topology``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators.functions import Add, HardSwish, Mul
from tvm_qnn.zoo.operators.inputs import constant, pictures
from tvm_qnn.zoo.operators.layers import Classify, Conv, Depthwise
from tvm_qnn.zoo.operators.moves import Reshape
from tvm_qnn.zoo.operators.pools import AvgPool, Mean, Softmax


class Row(NamedTuple):
    """Blocks that follow one another.

    Attributes:
        expansion: the channels between, as a multiple of those before.
        channels: of the outputs.
        repetitions: how many blocks.
        stride: of the first block.
        kernel: height and width of the depthwise convolutions.
    """

    expansion: int
    channels: int
    repetitions: int
    stride: int
    kernel: int = 3


@dataclass(frozen=True)
class Stage:
    """What the blocks of a row make.

    Attributes:
        expanded: the wide values of the first block, of the size before.
        output: of the last block.
    """

    expanded: Value
    output: Value


MOBILENET_V2 = (
    Row(1, 16, 1, 1), Row(6, 24, 2, 2), Row(6, 32, 3, 2), Row(6, 64, 4, 2),
    Row(6, 96, 3, 1), Row(6, 160, 3, 2), Row(6, 320, 1, 1),
)  # fmt: skip


def stages(x: Value, rows: Sequence[Row], scaled: Scaled) -> list[Stage]:
    """Add rows of blocks, and return what each makes."""
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
            x = Add()(x, y) if repetition > 0 else y
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
    return [Softmax()(Classify(classes)(Mean()(x)))]


def _inverted(x: Value, rows: Sequence[Row], scaled: Scaled) -> Value:
    x = Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(x)
    x = stages(x, rows, scaled)[-1].output
    return Conv(scaled(1280), (1, 1), activation="RELU6")(x)


def mobilenet_v2(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add MobileNet V2: inverted residuals. Sandler et al., arXiv:1801.04381."""
    x = _inverted(pictures(graph, size), MOBILENET_V2, scaled)
    return [Softmax()(Classify(classes)(Mean()(x)))]


class _Block(NamedTuple):
    kernel: int
    expanded: int
    channels: int
    squeezes: bool
    swish: bool
    stride: int


_MOBILENET_V3 = (
    _Block(3, 16, 16, False, False, 1),
    _Block(3, 64, 24, False, False, 2),
    _Block(3, 72, 24, False, False, 1),
    _Block(5, 72, 40, True, False, 2),
    _Block(5, 120, 40, True, False, 1),
    _Block(5, 120, 40, True, False, 1),
    _Block(3, 240, 80, False, True, 2),
    _Block(3, 200, 80, False, True, 1),
    _Block(3, 184, 80, False, True, 1),
    _Block(3, 184, 80, False, True, 1),
    _Block(3, 480, 112, True, True, 1),
    _Block(3, 672, 112, True, True, 1),
    _Block(5, 672, 160, True, True, 2),
    _Block(5, 960, 160, True, True, 1),
    _Block(5, 960, 160, True, True, 1),
)


def mobilenet_v3(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add MobileNet V3, large: squeeze and excitation. Howard et al., arXiv:1905.02244."""
    x = _conv(pictures(graph, size), scaled(16), 3, 2, swish=True)
    for block in _MOBILENET_V3:
        x = _block(x, block, scaled)
    x = _conv(x, scaled(960), 1, 1, swish=True)
    x = _conv(Mean(keep_dims=True)(x), scaled(1280), 1, 1, swish=True)
    return [Softmax()(Classify(classes)(Reshape((x.shape[3],))(x)))]


def _conv(x: Value, channels: int, kernel: int, stride: int, *, swish: bool) -> Value:
    if swish:
        return HardSwish()(Conv(channels, (kernel, kernel), stride, activation="NONE")(x))
    return Conv(channels, (kernel, kernel), stride)(x)


def _block(x: Value, block: _Block, scaled: Scaled) -> Value:
    y = x
    if block.expanded != 16:  # the first one has no expansion
        y = _conv(y, scaled(block.expanded), 1, 1, swish=block.swish)
    kernel = (block.kernel, block.kernel)
    if block.swish:
        y = HardSwish()(Depthwise(kernel, block.stride, "NONE")(y))
    else:
        y = Depthwise(kernel, block.stride, "RELU")(y)
    if block.squeezes:
        y = _excited(y, scaled(block.expanded // 4))
    y = Conv(scaled(block.channels), (1, 1), activation="NONE")(y)
    return Add()(x, y) if x.shape == y.shape else y


def _excited(x: Value, squeezed: int) -> Value:
    """Scale each channel by a hard sigmoid, relu6(y + 3) / 6, of what the channels' means give."""
    y = Conv(squeezed, (1, 1))(Mean(keep_dims=True)(x))
    y = Conv(x.shape[3], (1, 1), activation="NONE")(y)
    y = Add("RELU6")(y, constant(x.graph, np.array(3.0)))
    y = Mul()(y, constant(x.graph, np.array(1 / 6)))
    return Mul()(x, y)


_EFFICIENTNET_LITE0 = (
    Row(1, 16, 1, 1), Row(6, 24, 2, 2), Row(6, 40, 2, 2, 5), Row(6, 80, 3, 2),
    Row(6, 112, 3, 1, 5), Row(6, 192, 4, 2, 5), Row(6, 320, 1, 1),
)  # fmt: skip


def efficientnet_lite0(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add EfficientNet-Lite0: no squeezing, no swish. Tan et al., arXiv:1905.11946."""
    x = _inverted(pictures(graph, size), _EFFICIENTNET_LITE0, scaled)
    x = AvgPool(x.shape[1], x.shape[1])(x)
    return [Softmax()(Classify(classes)(Reshape((x.shape[3],))(x)))]
