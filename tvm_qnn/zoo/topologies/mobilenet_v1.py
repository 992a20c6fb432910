"""MobileNet V1: depthwise separable convolutions. Howard et al., arXiv:1704.04861."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import Classify, Conv, Depthwise, Mean, Softmax, pictures

# (channels, stride of the depthwise convolution)
_LAYERS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip


def mobilenet_v1(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Args:
        graph: what the layers are added to.
        size: height and width of the pictures, in pixels.
        classes: the number of classes.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities, [1, classes].
    """
    x = Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(pictures(graph, size))
    for channels, stride in _LAYERS:
        x = Depthwise((3, 3), stride)(x)
        x = Conv(scaled(channels), (1, 1), activation="RELU6")(x)
    return [Softmax()(Classify(classes)(Mean()(x)))]
