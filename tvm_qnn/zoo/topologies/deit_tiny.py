"""DeiT, tiny: a vision transformer. Touvron et al., arXiv:2012.12877."""

from __future__ import annotations

import numpy as np

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import (
    Add,
    Classify,
    Concat,
    Conv,
    Dense,
    Gelu,
    Mean,
    Mul,
    Reshape,
    Rsqrt,
    Slice,
    Softmax,
    SquaredDifference,
    Sub,
    constant,
    drawn,
    pictures,
)
from tvm_qnn.zoo.topologies.attention import attention, layers

_HEADS = 3
_PATCH = 16


def deit_tiny(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Args:
        graph: what the layers are added to.
        size: height and width of the pictures, in pixels.
        classes: the number of classes.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities, [1, classes].
    """
    depth = _HEADS * scaled(64)
    patch = (_PATCH, _PATCH)
    x = Conv(depth, patch, _PATCH, "VALID", "NONE")(pictures(graph, size))
    x = Reshape((x.shape[1] * x.shape[2], depth))(x)
    # The row that gathers what the class depends on; of each sample the same.
    first = Slice((0, 0), (1, depth))(x)
    first = Add()(Mul()(first, constant(graph, np.array([0.0]))), drawn(graph, (1, 1, depth)))
    x = Concat(1)(first, x)
    x = Add()(x, drawn(graph, (1, x.shape[1], depth)))
    for _ in range(layers(12, scaled)):
        y = _normalized(x)
        query, key, value = (Dense(depth)(y) for _ in range(3))
        x = Add()(x, Dense(depth)(attention(query, key, value, _HEADS, None)))
        y = Gelu()(Dense(4 * depth)(_normalized(x)))
        x = Add()(x, Dense(depth)(y))
    x = Reshape((depth,))(Slice((0, 0), (1, depth))(_normalized(x)))
    return [Softmax()(Classify(classes)(x))]


def _normalized(x: Value) -> Value:
    """Return rows of mean 0 and variance 1, times a factor plus an addend for each channel."""
    mean = Mean((2,), keep_dims=True)(x)
    variance = Mean((2,), keep_dims=True)(SquaredDifference()(x, mean))
    inverse = Rsqrt()(Add()(variance, constant(x.graph, np.array([1e-3]))))
    channels = x.shape[-1:]
    factor = Mul()(inverse, drawn(x.graph, channels, 1.0, 0.2))
    rest = Sub()(drawn(x.graph, channels, 0.0, 0.2), Mul()(mean, factor))
    return Add()(Mul()(x, factor), rest)
