"""MobileNet V2: inverted residuals, linear bottlenecks. Sandler et al., arXiv:1801.04381."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import Add, Classify, Conv, Depthwise, Mean, Softmax, pictures

# (expansion, channels, repetitions, stride of the first repetition)
_STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip


def mobilenet_v2(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Args:
        graph: what the layers are added to.
        size: height and width of the pictures, in pixels.
        classes: the number of classes.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities, [1, classes].
    """
    channels_in = scaled(32)
    x = Conv(channels_in, (3, 3), stride=2, activation="RELU6")(pictures(graph, size))
    for expansion, published, repetitions, first_stride in _STAGES:
        channels = scaled(published)
        for repetition in range(repetitions):
            stride = first_stride if repetition == 0 else 1
            y = x
            if expansion > 1:
                y = Conv(channels_in * expansion, (1, 1), activation="RELU6")(y)
            y = Depthwise((3, 3), stride)(y)
            y = Conv(channels, (1, 1), activation="NONE")(y)
            x = Add()(x, y) if repetition > 0 else y
            channels_in = channels
    x = Conv(scaled(1280), (1, 1), activation="RELU6")(x)
    return [Softmax()(Classify(classes)(Mean()(x)))]
