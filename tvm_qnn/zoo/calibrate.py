"""Weights and activation ranges of a network, found by running it once in float32."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tvm_qnn.zoo.file import QUANTIZED, Array
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Graph, Scaled
from tvm_qnn.zoo.images import PICTURES

Range = tuple[float, float]


@dataclass(frozen=True)
class Calibration:
    """The results of one float32 run.

    Attributes:
        weights: of every operator that has some, by its place in the graph.
        ranges: (lowest, highest) of every value that has a scale of its own, by its number.
        tied: the same, but all parts of a concatenation have the range of the whole.
    """

    weights: dict[int, Weights]
    ranges: dict[int, Range]
    tied: dict[int, Range]


def calibrate(graph: Graph, classes: int, seed: int) -> Calibration:
    """Draw weights for a network and run it on synthetic samples.

    Every channel of every layer is normalised over the samples, as batch normalisation
    would. A picture of pure noise is among them, so that the ranges cover inputs that are no
    pictures.

    Args:
        graph: the network.
        classes: the number of classes.
        seed: what the weights are drawn from.

    Returns:
        Weights and ranges. They are the same for the same arguments on the same machine;
        elsewhere, numpy's matrix product may round differently.

    Raises:
        QnnError: if a classifier has fewer classes than there are pictures.
    """
    rng = np.random.default_rng(seed)
    run = FloatRun(rng, rng.permutation(classes)[:PICTURES])
    found = Calibration({}, {}, {})
    arrays: dict[int, Array] = {}
    readers = Counter(value.number for node in graph.nodes for value in node.inputs)
    for number, node in enumerate(graph.nodes):
        run.weights = None
        results = node.operator.compute(run, *(arrays[value.number] for value in node.inputs))
        if run.weights is not None:
            found.weights[number] = run.weights
        for value, array in zip(node.outputs, results, strict=True):
            arrays[value.number] = array
            if value.source == value.number and value.dtype == QUANTIZED:
                found.ranges[value.number] = node.operator.limits() or _range(array)
        for value in node.inputs:
            readers[value.number] -= 1
            if not readers[value.number]:
                del arrays[value.number]
    found.tied.update(_tied(graph, found.ranges))
    return found


def channel_scaler(width: float) -> Scaled:
    """Return a function from published numbers of channels to `width` times as many, at least 4."""
    return lambda channels: max(4, round(channels * width))


def _range(array: Array) -> Range:
    return float(array.min()), float(array.max())


def _tied(graph: Graph, ranges: dict[int, Range]) -> dict[int, Range]:
    fixed = {
        value.number
        for node in graph.nodes
        if node.operator.lowest is not None or node.operator.limits() is not None
        for value in node.outputs
    }
    groups = [
        [value.source for value in (*node.outputs, *node.inputs) if value.source not in fixed]
        for node in graph.nodes
        if node.operator.joins and node.outputs[0].dtype == QUANTIZED
    ]
    tied = dict(ranges)
    # A concatenation may be part of a later one: repeat until nothing moves.
    while any(_tie(tied, group) for group in groups):
        pass
    return tied


def _tie(ranges: dict[int, Range], group: Sequence[int]) -> bool:
    lows, highs = zip(*(ranges[i] for i in group), strict=True)
    joint = (min(lows), max(highs))
    moved = any(ranges[i] != joint for i in group)
    ranges.update(dict.fromkeys(group, joint))
    return moved
