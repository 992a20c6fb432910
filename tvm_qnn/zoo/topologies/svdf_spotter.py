"""Filters over time of rank 1 between narrow layers. Alvarez and Park, arXiv:1812.02802."""

from __future__ import annotations

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import Dense, Softmax, Svdf, spectra

# Units and steps; a dense layer of 16 follows the first ones.
_FIRST, _LAST = [(64, 8)] * 4, [(32, 32)] * 3


def svdf_spotter(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the spotter of words to a graph. A run takes one spectrum.

    Args:
        graph: what the layers are added to.
        size: bands of a spectrum.
        classes: how many words there are.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities, [1, classes].
    """
    x = spectra(graph, size)
    for units, steps in _FIRST:
        x = Dense(scaled(16))(Svdf(scaled(units), steps)(x))
    for units, steps in _LAST:
        x = Svdf(scaled(units), steps)(x)
    return [Softmax()(Dense(classes)(x))]
