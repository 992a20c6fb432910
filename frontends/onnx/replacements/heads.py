"""Attention of heads whose number and widths are known. Heads may share keys and values."""

from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from qnn_ops.dialect.sizes import is_open

LOWEST = float(np.finfo(np.float32).min)
"""The addend of the score of a hidden token."""

OF_TOKENS, OF_HEADS = 3, 4
"""The number of axes of queries, keys and values before the split into heads, and of heads."""

TOKENS_LAST = [0, 2, 1, 3]
"""The order of axes that swaps tokens and heads."""


@dataclass(frozen=True)
class Heads:
    """The sizes of an attention, and the nodes that it consists of.

    Attributes:
        graph: the model, which gets the nodes.
        batch: number of sentences.
        count: number of heads of queries.
        shared: number of heads of keys and values; each is read by equally many heads of queries.
        tokens: number of tokens of a sentence whose results are computed.
        width: of a head of queries and keys.
        value_width: of a head of values.
    """

    graph: Graph
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

    def turned(self, data: str, output: str = "") -> str:
        """Return [batch, tokens, heads, width] as [batch, heads, tokens, width], or back."""
        return self.graph.add("Transpose", data, perm=TOKENS_LAST, output=output)

    def joined(self, data: str, output: str) -> str:
        """Return heads as one tensor, [batch, tokens, heads · width]."""
        shape = self.batch, self.tokens, self.count * self.value_width
        return self.graph.add("Reshape", self.turned(data), shape, output=output)

    def scores(self, queries: str, keys: str, scale: float) -> str:
        """Return products of queries and keys times a scale: [batch, heads, tokens, seen tokens].

        A scale of 0 stands for the reciprocal of the root of a head's width.
        """
        columns = self.graph.add("Transpose", keys, perm=[0, 1, 3, 2])
        return self.scores_of_columns(queries, columns, scale)

    def scores_of_columns(self, queries: str, columns: str, scale: float) -> str:
        """Return the scores of keys, [batch, heads, width, tokens]."""
        products = self.graph.add("MatMul", self._folded(queries, self.width), columns)
        factor = float(scale or 1 / np.sqrt(np.float32(self.width)))
        return self.graph.add("Mul", self._unfolded(products, -1), factor)

    def capped(self, scores: str, cap: float) -> str:
        """Return scores that a hyperbolic tangent bounds; unchanged scores if the bound is 0."""
        if not cap:
            return scores
        bent = self.graph.add("Tanh", self.graph.add("Div", scores, cap))
        return self.graph.add("Mul", bent, cap)

    def weights(self, scores: str, sinks: str = "") -> str:
        """Return the softmax of scores.

        Args:
            scores: of tokens.
            sinks: the score, for each head, of one more token whose value is 0; empty for none.
        """
        if not sinks:
            return self.graph.add("Softmax", scores, axis=3)
        wide = self.graph.add("Expand", sinks, (self.batch, self.count, self.tokens, 1))
        whole = self.graph.add("Concat", scores, wide, axis=3)
        return self.graph.add("Slice", self.graph.add("Softmax", whole, axis=3), [0], [-1], [3])

    def mixed(self, weights: str, values: str) -> str:
        """Return the sums of the values of tokens times their weights."""
        sums = self.graph.add("MatMul", self._folded(weights, -1), values)
        return self._unfolded(sums, self.value_width)

    def _folded(self, data: str, width: int) -> str:
        """Return heads that share keys as one head with the rows of all."""
        if self.count == self.shared:
            return data
        rows = self.count // self.shared * self.tokens
        return self.graph.add("Reshape", data, (self.batch, self.shared, rows, width))

    def _unfolded(self, data: str, width: int) -> str:
        if self.count == self.shared:
            return data
        return self.graph.add("Reshape", data, (self.batch, self.count, self.tokens, width))


def slices(graph: Graph, whole: str, widths: list[int], axis: int) -> list[str]:
    """Return parts of a tensor, one after the other along an axis."""
    ends = np.cumsum(widths).tolist()
    return [
        graph.add("Slice", whole, [end - width], [end], [axis])
        for width, end in zip(widths, ends, strict=True)
    ]


def numbers(graph: Graph, count: int, shape: tuple[int, ...]) -> str:
    """Return the numbers from 0 to below a count, which may be an open size, in a shape."""
    if not is_open([count]):
        return graph.constant(np.arange(count).reshape(shape))
    return graph.add("Reshape", graph.add("Range", 0, count, 1), shape)


def far(graph: Graph, first: Any, size: tuple[int, int], left: int, right: int) -> str:
    """Return which tokens are too far behind, or before, the token that looks.

    Args:
        graph: the model.
        first: the position of the first token that looks, a number, an open size or a tensor
            [batch, 1, 1, 1].
        size: number of tokens that look, and of tokens that they may see.
        left: how many tokens behind it a token sees; negative for all.
        right: how many tokens before it, likewise.

    Returns:
        A tensor that broadcasts to scores; empty if no token is too far.
    """
    if not isinstance(first, str) and not is_open([first, *size]):
        rows, columns = (np.arange(each) for each in size)
        distances = columns - rows.reshape(-1, 1) - first
        outside = ((distances > right) & (right >= 0)) | ((distances < -left) & (left >= 0))
        return graph.constant(outside) if outside.any() else ""
    if max(left, right) < 0:
        return ""
    bounds = [("Greater", right)] * (right >= 0) + [("Less", -left)] * (left >= 0)
    seen = numbers(graph, size[1], (1, 1, 1, -1))
    own = graph.add("Add", first, numbers(graph, size[0], (1, 1, -1, 1)))
    found = [
        graph.add(comparison, seen, graph.add("Add", own, bound) if bound else own)
        for comparison, bound in bounds
    ]
    return reduce(partial(graph.add, "Or"), found)
