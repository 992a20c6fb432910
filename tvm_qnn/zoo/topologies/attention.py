"""The parts that transformers have in common."""

from __future__ import annotations

import numpy as np

from tvm_qnn.zoo.graph import Scaled, Value
from tvm_qnn.zoo.operators import Add, MatMul, Mul, Reshape, Softmax, Transpose, constant, drawn


def layers(published: int, scaled: Scaled) -> int:
    """Return how many layers are built: of narrow networks fewer, too, so that they stay tiny."""
    whole = 512
    return max(1, int(published * min(1, scaled(whole) / whole) ** 1.5))


def attention(query: Value, key: Value, value: Value, heads: int, mask: Value | None) -> Value:
    """Return the sums of values by which each head answers its queries: [1, rows, depth].

    Args:
        query: [1, rows, depth], the heads side by side.
        key: likewise.
        value: likewise.
        heads: how many.
        mask: what is added to the scores, if anything is.
    """
    _, rows, depth = query.shape
    size = depth // heads

    def split(x: Value) -> Value:
        return Transpose((0, 2, 1, 3))(Reshape((rows, heads, size))(x))

    scores = MatMul(is_transposed=True)(split(query), split(key))
    scores = Mul()(scores, constant(query.graph, np.array([size**-0.5])))
    if mask is not None:
        scores = Add()(scores, mask)
    sums = MatMul()(Softmax()(scores), split(value))
    return Reshape((rows, depth))(Transpose((0, 2, 1, 3))(sums))


def scaled_and_shifted(x: Value) -> Value:
    """Return x times a factor plus an addend, one each for every channel."""
    channels = x.shape[-1:]
    return Add()(Mul()(x, drawn(x.graph, channels, 1.0, 0.2)), drawn(x.graph, channels, 0.0, 0.2))
