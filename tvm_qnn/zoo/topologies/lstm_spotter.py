"""An LSTM over a second of spectra. Zhang et al., arXiv:1711.07128."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import Dense, Lstm, Reshape, Slice, Softmax, spectra

_STEPS = 49


def lstm_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the spotter of words to a graph. A run takes 49 spectra, and goes on from the last.

    Args:
        graph: what the layers are added to.
        size: bands of a spectrum.
        classes: how many words there are.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities, [1, classes].
    """
    return _listening(spectra(graph, _STEPS, size), classes, scaled)


def hybrid_lstm_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the same spotter to a graph, of float32 data and weights of bytes."""
    return _listening(spectra(graph, _STEPS, size, dtype="float32"), classes, scaled)


def _listening(x: Value, classes: int, scaled: Scaled) -> list[Value]:
    cells = scaled(118)
    y = Lstm(cells)(x)
    last = Reshape((cells,))(Slice((_STEPS - 1, 0), (1, cells))(y))
    return [Softmax()(Dense(classes)(last))]
