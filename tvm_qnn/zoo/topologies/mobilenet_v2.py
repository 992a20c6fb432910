"""MobileNet V2: inverted residuals, linear bottlenecks. Sandler et al., arXiv:1801.04381."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import Classify, Conv, Mean, Softmax, pictures
from tvm_qnn.zoo.topologies.blocks import MOBILENET_V2, stages


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
    x = Conv(scaled(32), (3, 3), stride=2, activation="RELU6")(pictures(graph, size))
    x = stages(x, MOBILENET_V2, scaled)[-1].output
    x = Conv(scaled(1280), (1, 1), activation="RELU6")(x)
    return [Softmax()(Classify(classes)(Mean()(x)))]
