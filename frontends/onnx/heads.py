"""Attention of heads of known shapes. Heads may share keys and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from frontends.errors import UnsupportedError

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

LOWEST = float(np.finfo(np.float32).min)
"""What is added to the score of a token that is not seen."""

_TOKENS, _LAST = [0, 2, 1, 3], [0, 1, 3, 2]


@dataclass(frozen=True)
class Heads:
    """Sizes of an attention.

    Attributes:
        batch: sentences.
        count: heads of queries.
        shared: heads of keys and values; each is read by as many heads of queries.
        tokens: of a sentence, whose results are computed.
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


def split(groups: Groups, name: str, data: str, shape: tuple[int, int, int, int]) -> str:
    """Return a tensor [batch, tokens, heads · width] as heads: [batch, heads, tokens, width].

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        data: the tensor.
        shape: [batch, tokens, heads, width].
    """
    wide = groups.node("Reshape", [data, groups.number(shape, np.int64)], f"{name}_split")
    return groups.node("Transpose", [wide], f"{name}_heads", perm=_TOKENS)


def joined(groups: Groups, data: str, output: str, heads: Heads) -> str:
    """Return heads as one tensor, [batch, tokens, heads · width]."""
    turned = groups.node("Transpose", [data], f"{groups.prefix}{output}_joined", perm=_TOKENS)
    shape = heads.batch, heads.tokens, heads.count * heads.value_width
    return groups.node("Reshape", [turned, groups.number(shape, np.int64)], output)


def scores_of(
    groups: Groups, name: str, heads: Heads, queries: str, keys: str, scale: float
) -> str:
    """Return products of queries and keys times a scale: [batch, heads, tokens, seen tokens]."""
    turned = groups.node("Transpose", [keys], f"{name}_keys", perm=_LAST)
    folded = _folded(groups, f"{name}_queries", heads, queries, heads.width)
    products = groups.node("MatMul", [folded, turned], f"{name}_products")
    whole = _unfolded(groups, f"{name}_products", heads, products, -1)
    factor = groups.number(scale or 1 / np.sqrt(np.float32(heads.width)))
    return groups.node("Mul", [whole, factor], f"{name}_scores")


def capped(groups: Groups, name: str, scores: str, cap: float) -> str:
    """Return scores that a tangent bounds; as they are for no bound."""
    if not cap:
        return scores
    bound = groups.number(cap)
    parts = groups.node("Div", [scores, bound], f"{name}_parts")
    bent = groups.node("Tanh", [parts], f"{name}_bent")
    return groups.node("Mul", [bent, bound], f"{name}_capped")


def mixed(
    groups: Groups, name: str, heads: Heads, scores: str, values: str, sinks: str = ""
) -> str:
    """Return the values of tokens, weighted by the softmax of their scores.

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        heads: their sizes.
        scores: of tokens.
        values: of tokens.
        sinks: of each head the score of one more token, whose value is 0; empty for none.
    """
    if sinks:
        rows = groups.number((heads.batch, heads.count, heads.tokens, 1), np.int64)
        column = groups.node("Expand", [sinks, rows], f"{name}_sinks")
        scores = groups.node("Concat", [scores, column], f"{name}_sinking", axis=3)
    weights = groups.node("Softmax", [scores], f"{name}_weights", axis=3)
    if sinks:
        bounds = [groups.number([number], np.int64) for number in (0, -1, 3)]
        weights = groups.node("Slice", [weights, *bounds], f"{name}_staying")
    folded = _folded(groups, f"{name}_folded", heads, weights, -1)
    sums = groups.node("MatMul", [folded, values], f"{name}_mixed")
    return _unfolded(groups, f"{name}_mixed", heads, sums, heads.value_width)


def _folded(groups: Groups, name: str, heads: Heads, data: str, width: int) -> str:
    """Return rows of all heads that share keys below each other."""
    if heads.count == heads.shared:
        return data
    rows = heads.count // heads.shared * heads.tokens
    shape = groups.number((heads.batch, heads.shared, rows, width), np.int64)
    return groups.node("Reshape", [data, shape], f"{name}_folded")


def _unfolded(groups: Groups, name: str, heads: Heads, data: str, width: int) -> str:
    if heads.count == heads.shared:
        return data
    shape = groups.number((heads.batch, heads.count, heads.tokens, width), np.int64)
    return groups.node("Reshape", [data, shape], f"{name}_whole")
