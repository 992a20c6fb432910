"""Attention of heads of known shapes. Heads may share keys and values."""

from dataclasses import dataclass

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph

LOWEST = float(np.finfo(np.float32).min)
"""The addend of the score of a hidden token."""

TOKENS_LAST = [0, 2, 1, 3]
"""The order of axes that swaps tokens and heads."""


@dataclass(frozen=True)
class Heads:
    """Sizes of an attention.

    Attributes:
        batch: number of sentences.
        count: number of heads of queries.
        shared: number of heads of keys and values; each is read by equally many heads of queries.
        tokens: number of tokens of a sentence whose results are computed.
        width: of a head of queries and keys.
        value_width: of a head of values.
    """

    batch: int
    count: int
    shared: int
    tokens: int
    width: int
    value_width: int

    def __post_init__(self) -> None:
        """Check that heads share keys evenly."""
        if self.shared < 1 or self.count % self.shared or 0 in (self.width, self.value_width):
            raise UnsupportedError(f"{self.count} heads for {self.shared} heads of keys")


def split(graph: Graph, data: str, shape: tuple[int, ...]) -> str:
    """Return a tensor [batch, tokens, heads · width] as heads: [batch, heads, tokens, width].

    Args:
        graph: the model.
        data: the tensor.
        shape: [batch, tokens, heads, width].
    """
    wide = graph.add("Reshape", data, shape)
    return graph.add("Transpose", wide, perm=TOKENS_LAST)


def joined(graph: Graph, data: str, output: str, heads: Heads) -> str:
    """Return heads as one tensor, [batch, tokens, heads · width]."""
    turned = graph.add("Transpose", data, perm=TOKENS_LAST)
    shape = heads.batch, heads.tokens, heads.count * heads.value_width
    return graph.add("Reshape", turned, shape, output=output)


def scores_of(graph: Graph, heads: Heads, queries: str, keys: str, scale: float) -> str:
    """Return products of queries and keys times a scale: [batch, heads, tokens, seen tokens]."""
    turned = graph.add("Transpose", keys, perm=[0, 1, 3, 2])
    return scores_of_columns(graph, heads, queries, turned, scale)


def scores_of_columns(graph: Graph, heads: Heads, queries: str, columns: str, scale: float) -> str:
    """Return the scores for keys whose tokens are the last axis: [batch, heads, width, tokens]."""
    folded = _folded(graph, heads, queries, heads.width)
    products = graph.add("MatMul", folded, columns)
    whole = _unfolded(graph, heads, products, -1)
    return graph.add("Mul", whole, float(scale or 1 / np.sqrt(np.float32(heads.width))))


def capped(graph: Graph, scores: str, cap: float) -> str:
    """Return scores that a hyperbolic tangent bounds; unchanged scores if there is no bound."""
    if not cap:
        return scores
    bent = graph.add("Tanh", graph.add("Div", scores, cap))
    return graph.add("Mul", bent, cap)


def weights_of(graph: Graph, heads: Heads, scores: str, sinks: str = "") -> str:
    """Return the softmax of scores.

    Args:
        graph: the model.
        heads: their sizes.
        scores: of tokens.
        sinks: the score, for each head, of one more token whose value is 0; empty for none.
    """
    if not sinks:
        return graph.add("Softmax", scores, axis=3)
    rows = heads.batch, heads.count, heads.tokens, 1
    scores = graph.add("Concat", scores, graph.add("Expand", sinks, rows), axis=3)
    return graph.add("Slice", graph.add("Softmax", scores, axis=3), [0], [-1], [3])


def mixed(graph: Graph, heads: Heads, weights: str, values: str) -> str:
    """Return the sums of the values of tokens times their weights."""
    sums = graph.add("MatMul", _folded(graph, heads, weights, -1), values)
    return _unfolded(graph, heads, sums, heads.value_width)


def _folded(graph: Graph, heads: Heads, data: str, width: int) -> str:
    """Return heads that share keys as one head with the rows of all."""
    if heads.count == heads.shared:
        return data
    rows = heads.count // heads.shared * heads.tokens
    return graph.add("Reshape", data, (heads.batch, heads.shared, rows, width))


def _unfolded(graph: Graph, heads: Heads, data: str, width: int) -> str:
    if heads.count == heads.shared:
        return data
    return graph.add("Reshape", data, (heads.batch, heads.count, heads.tokens, width))
