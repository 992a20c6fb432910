"""A decoder step: attention to a past that the caller keeps and appends new tokens to."""

from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.replacements.heads import (
    LOWEST,
    TOKENS_LAST,
    Heads,
    capped,
    joined,
    mixed,
    scores_of,
    scores_of_columns,
    weights_of,
)

STEP = "tvm_qnn_step"
"""The attribute of a GroupQueryAttention that reads its past keys as columns, [batch, heads, width,
size], and gives the keys and values of its own tokens alone, [batch, heads, tokens, width]."""


def write_step(
    graph: Graph,
    node: Any,
    heads: Heads,
    parts: list[str],
    pasts: tuple[str, str],
    firsts: str,
    sinks: str,
    attrs: dict[str, Any],
) -> None:
    """Write a GroupQueryAttention with the attribute STEP. It does not copy the past.

    Args:
        graph: the model.
        node: the attention.
        heads: their sizes.
        parts: queries, keys and values of the step's tokens, [batch, tokens, heads, width].
        pasts: keys and values of the past; the elements behind them may have any finite value.
        firsts: number of past tokens, [batch, 1].
        sinks: an operand of ``sinks_of``.
        attrs: of the node.
    """
    queries = graph.add("Transpose", parts[0], perm=TOKENS_LAST)
    keys, values = (
        graph.add("Transpose", part, perm=TOKENS_LAST, output=output)
        for part, output in zip(parts[1:], node.output[1:], strict=True)
    )
    scale, cap = float(attrs.get("scale", 0.0)), float(attrs.get("softcap", 0.0))
    size, window = graph.shape(pasts[0])[3], int(attrs.get("local_window_size", -1))
    before = capped(graph, scores_of_columns(graph, heads, queries, pasts[0], scale), cap)
    before = graph.add("Where", _seen(graph, firsts, size, heads.tokens, window), before, LOWEST)
    own = capped(graph, scores_of(graph, heads, queries, keys, scale), cap)
    offsets = np.arange(heads.tokens)[:, None] - np.arange(heads.tokens)
    is_seen = (offsets >= 0) & ((offsets < window) | (window <= 0))
    if not is_seen.all():
        own = graph.add("Where", graph.constant(is_seen[None, None]), own, LOWEST)
    scores = graph.add("Concat", before, own, axis=3)
    weights = weights_of(graph, heads, scores, sinks_of(graph, sinks, attrs))
    sums = [
        mixed(graph, heads, graph.add("Slice", weights, [begin], [end], [3]), each)
        for begin, end, each in ((0, size, pasts[1]), (size, size + heads.tokens, values))
    ]
    joined(graph, graph.add("Add", *sums), node.output[0], heads)


def sinks_of(graph: Graph, sinks: str, attrs: dict[str, Any]) -> str:
    """Return the scores of one more token, for ``weights_of``.

    Args:
        graph: the model.
        sinks: a score for each head of queries; empty for none.
        attrs: of the node.
    """
    if sinks:
        return graph.add("Reshape", sinks, (1, int(attrs["num_heads"]), 1, 1))
    if attrs.get("smooth_softmax", 0):
        return graph.constant(np.zeros((1, 1, 1, 1), np.float32))
    return ""


def _seen(graph: Graph, firsts: str, size: int, tokens: int, window: int) -> str:
    """Return which tokens of the past each token sees, [batch, 1, tokens or 1, size]."""
    numbers = graph.constant(np.arange(size).reshape(1, 1, 1, size))
    column = graph.add("Reshape", firsts, (-1, 1, 1, 1))
    is_past = graph.add("Less", numbers, column)
    if window <= 0:
        return is_past
    last = graph.add("Add", column, (np.arange(tokens) - window).reshape(1, 1, tokens, 1))
    return graph.add("And", is_past, graph.add("Less", last, numbers))
