"""Attention of large language models, whose heads share keys, as nodes of the standard."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.heads import LOWEST, Heads, capped, joined, mixed, scores_of
from frontends.onnx.normalizations import operands_of
from frontends.onnx.package import onnx_package
from frontends.onnx.rotations import Rotation, rotated

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

_OPERANDS = 12
"""Those that are imported: up to the sinks."""
_TOKENS = [0, 2, 1, 3]


def group_query_attention(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write a GroupQueryAttention.

    Of a sentence the run tells how many tokens it has, of which the last ones are the queries'.
    Keys of earlier ones are those of the past; behind all of them stand zeros.
    """
    operands = operands_of(inputs, 7, 16)
    query, key, value, past_key, past_value, last, total = operands[:7]
    cosines, sines, own_places, bias, sinks = operands[7:_OPERANDS]
    if any(operands[_OPERANDS:]):
        raise UnsupportedError("scales of keys and values are not imported")
    if any(node.output[3:]):
        raise UnsupportedError("scores as a result are not imported")
    batch, tokens, whole_width = groups.shape(query)
    count, shared = int(attrs["num_heads"]), int(attrs["kv_num_heads"])
    width = groups.shape(past_key)[3] if past_key else 0
    width = whole_width // count if key else whole_width // (count + 2 * shared)
    heads = Heads(batch, count, shared, tokens, width, width)
    name = f"{groups.prefix}{node.output[0]}"
    parts = _parts(groups, name, heads, (query, key, value))
    before = groups.shape(past_key)[2] if past_key else 0
    known = int(groups.value(total).item())
    size = max(known, before)
    column = groups.number((-1, 1), np.int64)
    kind = onnx_package().TensorProto.INT64
    wide = groups.node("Cast", [last], f"{name}_last_wide", to=kind)
    lasts = groups.node("Reshape", [wide, column], f"{name}_last")
    # Of the first run there is no past, also where its tensors are there.
    is_first = known == tokens
    shift = groups.number([[1 - tokens]], np.int64)
    firsts = groups.number(np.zeros((batch, 1)), np.int64)
    if not is_first:
        firsts = groups.node("Add", [lasts, shift], f"{name}_first")
    if attrs.get("do_rotary", 0):
        rotation = Rotation(cosines, sines, bool(attrs.get("rotary_interleaved", 0)))
        places = _places(groups, name, tokens, firsts, (own_places, is_first))
        for place in (0, 1):
            stem = f"{name}_{place}"
            parts[place] = rotated(groups, stem, rotation, parts[place], places, (width, 2))
    queries = groups.node("Transpose", [parts[0]], f"{name}_queries_heads", perm=_TOKENS)
    kept = []
    for place, past in ((1, past_key), (2, past_value)):
        output = node.output[place] if len(node.output) > place else ""
        output = output or f"{name}_present_{place}"
        sizes = before, size, is_first
        kept.append(_present(groups, output, heads, (parts[place], past), firsts, sizes))
    scores = scores_of(groups, name, heads, queries, kept[0], float(attrs.get("scale", 0.0)))
    scores = capped(groups, name, scores, float(attrs.get("softcap", 0.0)))
    if bias:
        scores = _biased(groups, name, scores, bias, (known, size))
    window = int(attrs.get("local_window_size", -1))
    is_seen = _seen(groups, name, firsts, (tokens, size), window)
    scores = groups.node("Where", [is_seen, scores, groups.number(LOWEST)], f"{name}_masked")
    if sinks:
        column = groups.number((1, count, 1, 1), np.int64)
        sinks = groups.node("Reshape", [sinks, column], f"{name}_sink")
    elif attrs.get("smooth_softmax", 0):
        sinks = groups.number(np.zeros((1, 1, 1, 1)))
    result = mixed(groups, name, heads, scores, kept[1], sinks)
    joined(groups, result, node.output[0], heads)


def _places(groups: Groups, name: str, tokens: int, firsts: str, given: tuple[str, bool]) -> str:
    """Return the places of tokens, [batch or 1, tokens].

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        tokens: of a sentence.
        firsts: the place of the first of them, [batch, 1], where none is given.
        given: places, or empty; and whether it is the first run, of which ONNX Runtime reads the
            very first place, and counts on from it in all sentences.
    """
    places, is_first = given
    if places and not is_first:
        return places
    if places:
        flat = groups.node("Reshape", [places, groups.number([-1], np.int64)], f"{name}_given")
        bounds = [groups.number([number], np.int64) for number in (0, 1)]
        firsts = groups.node("Slice", [flat, *bounds], f"{name}_given_first")
    own = groups.number(np.arange(tokens)[None], np.int64)
    return groups.node("Add", [firsts, own], f"{name}_places")


def _biased(groups: Groups, name: str, scores: str, bias: str, sizes: tuple[int, int]) -> str:
    """Return scores plus a bias, [batch or 1, heads or 1, tokens, known].

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        scores: of tokens.
        bias: of them.
        sizes: the tokens of the longest sentence, and those of which there are scores: others are
            hidden.
    """
    known, size = sizes
    shape = groups.shape(bias)
    if shape[-1] != known:
        raise UnsupportedError(f"a bias of shape {list(shape)} for {known} tokens")
    if size > known:
        zeros = groups.constant(np.zeros((*shape[:-1], size - known), np.float32))
        bias = groups.node("Concat", [bias, zeros], f"{name}_bias", axis=3)
    return groups.node("Add", [scores, bias], f"{name}_biased")


def _parts(groups: Groups, name: str, heads: Heads, data: tuple[str, str, str]) -> list[str]:
    """Return queries, keys and values, [batch, tokens, heads, width]; they may be one tensor."""
    query, key, value = data
    counts = heads.count, heads.shared, heads.shared
    start = heads.batch, heads.tokens
    if key and value:
        return [
            groups.node(
                "Reshape",
                [each, groups.number((*start, count, heads.width), np.int64)],
                f"{name}_split_{place}",
            )
            for place, (each, count) in enumerate(zip(data, counts, strict=True))
        ]
    shape = groups.number((*start, sum(counts), heads.width), np.int64)
    whole, axis = groups.node("Reshape", [query, shape], f"{name}_whole"), [2]
    ends = np.cumsum((0, *counts))
    return [
        groups.node(
            "Slice",
            [whole, *(groups.number(bound, np.int64) for bound in ([a], [b], axis))],
            f"{name}_part_{place}",
        )
        for place, (a, b) in enumerate(pairwise(ends))
    ]


def _present(
    groups: Groups,
    output: str,
    heads: Heads,
    data: tuple[str, str],
    firsts: str,
    sizes: tuple[int, int, bool],
) -> str:
    """Write keys or values of all tokens, [batch, heads, size, width].

    Args:
        groups: of the model.
        output: its name.
        heads: their sizes.
        data: those of the queries' tokens, [batch, tokens, heads, width], and of the past.
        firsts: the place of the first of these tokens, [batch, 1].
        sizes: how many the past has, how many the result, and whether it is the first run.
    """
    (own, past), (before, size, is_first) = data, sizes
    name = f"{groups.prefix}{output}"
    if is_first:
        turned = groups.node("Transpose", [own], f"{name}_own", perm=_TOKENS)
        return _padded(groups, output, turned, heads, size - heads.tokens)
    numbers = groups.number(np.arange(size)[None], np.int64)
    offsets = groups.node("Sub", [numbers, firsts], f"{name}_offsets")
    bounds = [groups.number(number, np.int64) for number in (0, heads.tokens - 1)]
    inside = groups.node("Clip", [offsets, *bounds], f"{name}_inside")
    rows = groups.number((heads.batch, size, 1), np.int64)
    places = groups.node("Reshape", [inside, rows], f"{name}_rows")
    wide = groups.node("GatherND", [own, places], f"{name}_moved", batch_dims=1, nearest=1)
    moved = groups.node("Transpose", [wide], f"{name}_own", perm=_TOKENS)
    masks = []
    for place, bound in enumerate((bounds[0], groups.number(heads.tokens, np.int64))):
        is_before = groups.node("Less", [offsets, bound], f"{name}_is_before_{place}")
        shape = groups.number((heads.batch, 1, size, 1), np.int64)
        masks.append(groups.node("Reshape", [is_before, shape], f"{name}_mask_{place}"))
    later = groups.node("Where", [masks[1], moved, groups.number(0)], f"{name}_later")
    if not past:
        return groups.node("Where", [masks[0], groups.number(0), later], output)
    whole = _padded(groups, f"{name}_past", past, heads, size - before)
    return groups.node("Where", [masks[0], whole, later], output)


def _padded(groups: Groups, output: str, data: str, heads: Heads, count: int) -> str:
    """Write heads, and so many tokens of zeros behind them."""
    if not count:
        return groups.node("Identity", [data], output)
    zeros = np.zeros((heads.batch, heads.shared, count, heads.width), np.float32)
    return groups.node("Concat", [data, groups.constant(zeros)], output, axis=2)


def _seen(groups: Groups, name: str, firsts: str, size: tuple[int, int], window: int) -> str:
    """Return which tokens a token sees: itself, and those before it, of a window if there is one.

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        firsts: the place of the first token, [batch, 1].
        size: tokens, and those that they may see.
        window: how many there are; negative for all.
    """
    tokens, seen = size
    rows = groups.number(np.arange(tokens).reshape(1, 1, tokens, 1), np.int64)
    numbers = groups.number(np.arange(seen).reshape(1, 1, 1, seen), np.int64)
    shape = groups.number((-1, 1, 1, 1), np.int64)
    column = groups.node("Reshape", [firsts, shape], f"{name}_first_place")
    own = groups.node("Add", [column, rows], f"{name}_own_places")
    later = groups.node("Less", [own, numbers], f"{name}_is_later")
    hidden = later
    if window > 0:
        distance = groups.node("Sub", [own, numbers], f"{name}_distance")
        most = groups.number(window - 1, np.int64)
        far = groups.node("Less", [most, distance], f"{name}_is_far")
        hidden = groups.node("Or", [later, far], f"{name}_is_hidden")
    return groups.node("Not", [hidden], f"{name}_is_seen")
