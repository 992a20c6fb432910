"""Depthwise separable convolutions over a stream of spectra. Zhang et al., arXiv:1711.07128."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import Conv, Dense, Depthwise, Mean, Pad, Past, Softmax, spectra

_STEPS = 10  # of the first convolution
_BLOCKS = 4
_AVERAGED = 25  # steps


def ds_cnn_stream(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the spotter of words to a graph. A run takes one spectrum, and keeps those before.

    Args:
        graph: what the layers are added to.
        size: bands of a spectrum.
        classes: how many words there are.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities, [1, classes].
    """
    x = Pad(1, 1, (2,))(Past(_STEPS)(spectra(graph, 1, size, 1)))
    x = Conv(scaled(64), (_STEPS, 4), 2, "VALID")(x)
    for _ in range(_BLOCKS):
        x = Pad(1, 1, (2,))(Past(3)(x))
        x = Depthwise((3, 3), activation="RELU", padding="VALID")(x)
        x = Conv(scaled(64), (1, 1))(x)
    return [Softmax()(Dense(classes)(Mean()(Past(_AVERAGED)(x))))]
