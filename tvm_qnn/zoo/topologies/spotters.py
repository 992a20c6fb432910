"""Spotters of words in a stream of spectra; arguments and results are those of ``Topology``."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators.inputs import spectra
from tvm_qnn.zoo.operators.layers import Conv, Dense, Depthwise
from tvm_qnn.zoo.operators.moves import Pad, Reshape, Slice
from tvm_qnn.zoo.operators.pools import Mean, Softmax
from tvm_qnn.zoo.operators.sequences import Lstm, Past, Svdf

_FILTER_STEPS = 10  # of the first convolution
_BLOCKS = 4
_AVERAGED = 25  # steps


def ds_cnn_stream(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add separable convolutions over a stream of spectra. Zhang et al., arXiv:1711.07128.

    A run takes one spectrum, and keeps those before.
    """
    x = Pad(1, 1, (2,))(Past(_FILTER_STEPS)(spectra(graph, 1, size, 1)))
    x = Conv(scaled(64), (_FILTER_STEPS, 4), 2, "VALID")(x)
    for _ in range(_BLOCKS):
        x = Pad(1, 1, (2,))(Past(3)(x))
        x = Depthwise((3, 3), activation="RELU", padding="VALID")(x)
        x = Conv(scaled(64), (1, 1))(x)
    return [Softmax()(Dense(classes)(Mean()(Past(_AVERAGED)(x))))]


# Units and steps; a dense layer of 16 follows the first ones.
_FIRST, _LAST = [(64, 8)] * 4, [(32, 32)] * 3


def svdf_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add filters over time of rank 1. Alvarez and Park, arXiv:1812.02802.

    Narrow dense layers stand between the filters. A run takes one spectrum.
    """
    x = spectra(graph, size)
    for units, steps in _FIRST:
        x = Dense(scaled(16))(Svdf(scaled(units), steps)(x))
    for units, steps in _LAST:
        x = Svdf(scaled(units), steps)(x)
    return [Softmax()(Dense(classes)(x))]


_LSTM_STEPS = 49


def lstm_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add an LSTM over a second of spectra. Zhang et al., arXiv:1711.07128.

    A run takes 49 spectra, and goes on from the last one.
    """
    return _listening(spectra(graph, _LSTM_STEPS, size), classes, scaled)


def hybrid_lstm_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the LSTM of ``lstm_spotter``, of float32 data and weights of bytes."""
    return _listening(spectra(graph, _LSTM_STEPS, size, dtype="float32"), classes, scaled)


def _listening(x: Value, classes: int, scaled: Scaled) -> list[Value]:
    cells = scaled(118)
    y = Lstm(cells)(x)
    last = Reshape((cells,))(Slice((_LSTM_STEPS - 1, 0), (1, cells))(y))
    return [Softmax()(Dense(classes)(last))]
