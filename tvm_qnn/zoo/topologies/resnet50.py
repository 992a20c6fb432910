"""ResNet-50, version 1.5: a block's stride is on its 3x3 layer. He et al., arXiv:1512.03385."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators.functions import Add
from tvm_qnn.zoo.operators.inputs import pictures
from tvm_qnn.zoo.operators.layers import Classify, Conv
from tvm_qnn.zoo.operators.pools import MaxPool, Mean, Softmax

# (channels of the bottleneck, blocks, stride of the first block)
_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
_EXPANSION = 4


def resnet50(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph. Its arguments and results are those of `Topology`."""
    x = Conv(scaled(64), (7, 7), stride=2)(pictures(graph, size))
    x = MaxPool(size=3, stride=2, padding="SAME")(x)
    for channels, blocks, first_stride in _STAGES:
        narrow, wide = scaled(channels), scaled(channels * _EXPANSION)
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = Conv(narrow, (1, 1))(x)
            y = Conv(narrow, (3, 3), stride)(y)
            y = Conv(wide, (1, 1), activation="NONE")(y)
            shortcut = x if block > 0 else Conv(wide, (1, 1), stride, activation="NONE")(x)
            x = Add("RELU")(shortcut, y)
    return [Softmax()(Classify(classes)(Mean()(x)))]
