"""MobileBERT, which finds answers in a text. Sun et al., arXiv:2004.02984."""

from __future__ import annotations

import numpy as np

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import (
    Add,
    Concat,
    Dense,
    Embed,
    FloorMod,
    Mul,
    Pad,
    Reshape,
    Slice,
    Sub,
    constant,
    drawn,
    mask,
    numbers,
)
from tvm_qnn.zoo.topologies.attention import attention, layers, scaled_and_shifted

_HEADS = 4
_FEED_FORWARD = 4
_FAR_BELOW = 10.0  # what scores of what is no text lose


def mobilebert(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Its inputs are the numbers of words, int32 [1, size], and of their segments, likewise, and a
    mask [1, 1, 1, size], 1 where there is text. Any number is a word: it is taken modulo the words.

    Args:
        graph: what the layers are added to.
        size: words of a text.
        classes: words that it knows.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        How likely the answer begins and ends at each word, both [1, size], as logits.
    """
    narrow = _HEADS * scaled(32)
    wide = 4 * narrow
    words = _numbers(graph, "words", size, classes)
    segments = _numbers(graph, "segments", size, 2)
    text = mask(graph, size)
    most = constant(graph, np.array([_FAR_BELOW]))
    below = Sub()(Mul()(text, most), most)
    each = Embed(classes, narrow)(words)
    before = Pad(0, 1, (1,))(Slice((1, 0), (size - 1, narrow))(each))
    after = Pad(1, 0, (1,))(Slice((0, 0), (size - 1, narrow))(each))
    x = Dense(wide)(Concat(2)(before, each, after))
    x = Add()(x, drawn(graph, (1, size, wide)))
    x = scaled_and_shifted(Add()(x, Embed(2, wide)(segments)))
    for _ in range(layers(24, scaled)):
        x = _layer(x, narrow, below)
    answers = Dense(2)(x)
    return [Reshape((size,))(Slice((0, end), (size, 1))(answers)) for end in (0, 1)]


def _numbers(graph: Graph, name: str, size: int, limit: int) -> Value:
    return FloorMod()(
        numbers(graph, name, size, limit), constant(graph, np.array([limit]), "int32")
    )


def _layer(x: Value, narrow: int, below: Value) -> Value:
    """Add a layer: a bottleneck with attention and four small networks in it."""
    inner = scaled_and_shifted(Dense(narrow)(x))
    shared = scaled_and_shifted(Dense(narrow)(x))
    query, key, value = Dense(narrow)(shared), Dense(narrow)(shared), Dense(narrow)(x)
    y = Dense(narrow)(attention(query, key, value, _HEADS, below))
    y = scaled_and_shifted(Add()(y, inner))
    for _ in range(_FEED_FORWARD):
        z = Dense(narrow)(Dense(4 * narrow, "RELU")(y))
        y = scaled_and_shifted(Add()(z, y))
    return scaled_and_shifted(Add()(Dense(x.shape[-1])(y), x))
