"""EfficientNet-Lite0: EfficientNet without squeezing and swish. Tan et al., arXiv:1905.11946."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import AvgPool, Classify, Conv, Reshape, Softmax, pictures
from tvm_qnn.zoo.topologies.blocks import Row, stages

_ROWS = (
    Row(1, 16, 1, 1), Row(6, 24, 2, 2), Row(6, 40, 2, 2, 5), Row(6, 80, 3, 2),
    Row(6, 112, 3, 1, 5), Row(6, 192, 4, 2, 5), Row(6, 320, 1, 1),
)  # fmt: skip


def efficientnet_lite0(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
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
    x = stages(x, _ROWS, scaled)[-1].output
    x = Conv(scaled(1280), (1, 1), activation="RELU6")(x)
    x = AvgPool(x.shape[1], x.shape[1])(x)
    return [Softmax()(Classify(classes)(Reshape((x.shape[3],))(x)))]
