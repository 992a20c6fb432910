"""Classifiers of pictures that are made in one style; arguments and results are ``Topology``'s."""

from typing import NamedTuple

import numpy as np

from benchmarks.tflite_zoo import functions as op
from benchmarks.tflite_zoo.layers import constant
from tvm_qnn.zoo import operators as common
from tvm_qnn.zoo.classifiers import Row, inverted_residuals
from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import Classify, Conv, Depthwise, pictures


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
    x = _conv(common.Mean(keep_dims=True)(x), scaled(1280), 1, 1, swish=True)
    return [common.Softmax()(Classify(classes)(op.Reshape((x.shape[3],))(x)))]


def _conv(x: Value, channels: int, kernel: int, stride: int, *, swish: bool) -> Value:
    if swish:
        return op.HardSwish()(Conv(channels, (kernel, kernel), stride, activation="NONE")(x))
    return Conv(channels, (kernel, kernel), stride)(x)


def _block(x: Value, block: _Block, scaled: Scaled) -> Value:
    y = x
    if block.expanded != 16:  # the first one has no expansion
        y = _conv(y, scaled(block.expanded), 1, 1, swish=block.swish)
    kernel = (block.kernel, block.kernel)
    if block.swish:
        y = op.HardSwish()(Depthwise(kernel, block.stride, "NONE")(y))
    else:
        y = Depthwise(kernel, block.stride, "RELU")(y)
    if block.squeezes:
        y = _excited(y, scaled(block.expanded // 4))
    y = Conv(scaled(block.channels), (1, 1), activation="NONE")(y)
    return common.Add()(x, y) if x.shape == y.shape else y


def _excited(x: Value, squeezed: int) -> Value:
    """Scale each channel by a hard sigmoid, relu6(y + 3) / 6, computed from all channels' means."""
    y = Conv(squeezed, (1, 1))(common.Mean(keep_dims=True)(x))
    y = Conv(x.shape[3], (1, 1), activation="NONE")(y)
    y = common.Add("RELU6")(y, constant(x.graph, np.array(3.0)))
    y = op.Mul()(y, constant(x.graph, np.array(1 / 6)))
    return op.Mul()(x, y)


_EFFICIENTNET_LITE0 = (
    Row(1, 16, 1, 1), Row(6, 24, 2, 2), Row(6, 40, 2, 2, 5), Row(6, 80, 3, 2),
    Row(6, 112, 3, 1, 5), Row(6, 192, 4, 2, 5), Row(6, 320, 1, 1),
)  # fmt: skip


def efficientnet_lite0(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add EfficientNet-Lite0: no squeezing, no swish. Tan et al., arXiv:1905.11946."""
    x = inverted_residuals(pictures(graph, size), _EFFICIENTNET_LITE0, scaled)
    x = common.AvgPool(x.shape[1], x.shape[1])(x)
    return [common.Softmax()(Classify(classes)(op.Reshape((x.shape[3],))(x)))]
