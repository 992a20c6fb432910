"""ONNX Runtime's own forms of attention, as nodes of the standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.normalizations import operands_of
from frontends.onnx.package import onnx_package
from frontends.onnx.products import product
from frontends.onnx.standard_attention import standard_attention

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

_HIDDEN = -10000.0
"""What is added to the score of a token that is not seen."""
_TOKENS, _HEADS, _KEYS, _ONES = [0, 2, 1, 3], [0, 0], [0, 2, 3, 1], [1, 1]
_LAST = [0, 1, 3, 2]
_OF_PARTS = 3
"""Queries, keys and values."""
_OF_HEADS = 4
"""The axes of what is split into heads."""
_RAW, _OF_PAIRS = 2, 3
"""The axes of a mask with a number for each token, or for each pair of them."""


def any_attention(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write an Attention of ONNX Runtime's, or the standard's, which is another operator."""
    rule = attention if node.domain == "com.microsoft" else standard_attention
    rule(groups, node, inputs, attrs)


def attention(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write an Attention: products with weights, split into heads, and what they see."""
    data, weights, bias, mask, past, addend, count = operands_of(inputs, _OF_PARTS, 7)
    _check(node, [count], attrs, results=2)
    name = f"{groups.prefix}{node.output[0]}"
    sums = groups.node("MatMul", [data, weights], f"{name}_products")
    whole = groups.node("Add", [sums, bias], f"{name}_whole")
    parts = _parts(groups, name, whole, _widths(groups, weights, bias, attrs))
    presents = _seen(groups, node, parts, (mask, addend), attrs, _both(groups, name, past))
    _stacked(groups, node, presents)


def quantized_attention(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write the same of bytes, whose products are integers."""
    operands = operands_of(inputs, 5, 9)
    data, weights, bias, data_scale, scale, mask, data_point, point, past = operands
    _check(node, [], attrs, results=2)
    name = f"{groups.prefix}{node.output[0]}"
    places = [data, weights, data_point, point]
    product(groups, f"{name}_whole", places, (data_scale, scale), bias)
    parts = _parts(groups, name, f"{name}_whole", _widths(groups, weights, bias, attrs))
    presents = _seen(groups, node, parts, (mask, ""), attrs, _both(groups, name, past))
    _stacked(groups, node, presents)


def multi_head_attention(
    groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write a MultiHeadAttention of queries, keys and values that are computed before."""
    operands = operands_of(inputs, 1, 10)
    query, key, value, bias, mask, addend, past_key, past_value, *shared = operands
    _check(node, shared, attrs, results=_OF_PARTS)
    if not key or not value or groups.rank(key) > _OF_HEADS:
        raise UnsupportedError("packed keys or values: ONNX Runtime's CPU provider has none")
    ranks = [groups.rank(each) for each in (query, key, value)]
    if ranks != [_OF_PARTS] * _OF_PARTS and (ranks != [_OF_PARTS, _OF_HEADS, _OF_HEADS] or bias):
        raise UnsupportedError(
            "queries, keys and values must have three axes that are known; of keys and values that "
            "are heads, which have four, there can be no bias"
        )
    parts = [query, key, value]
    if bias:
        name = f"{groups.prefix}{node.output[0]}"
        width = groups.value(bias).size // _OF_PARTS
        biases = _parts(groups, f"{name}_bias", bias, [width] * _OF_PARTS, axis=0)
        parts = [
            groups.node("Add", [each, own], f"{name}_biased_{place}")
            for place, (each, own) in enumerate(zip(parts, biases, strict=True))
        ]
    presents = _seen(groups, node, parts, (mask, addend), attrs, (past_key, past_value))
    for output, present in zip(node.output[1:], presents, strict=False):
        if output:
            groups.node("Identity", [present], output)


def _check(node: Any, shared: list[str], attrs: dict[str, Any], *, results: int) -> None:
    """Refuse what is not imported.

    Args:
        node: the attention.
        shared: operands of a cache that past and present keys share.
        attrs: of the node.
        results: how many it may have: its own, and what it keeps.
    """
    if any(shared) or attrs.get("past_present_share_buffer", 0):
        raise UnsupportedError("past and present keys that share memory are not imported")
    if any(node.output[results:]):
        raise UnsupportedError("scores as a result are not imported")
    if attrs.get("do_rotary", 0):
        raise UnsupportedError("do_rotary is not imported")
    if int(attrs["num_heads"]) < 1:
        raise UnsupportedError(f"num_heads is {attrs['num_heads']}")


def _both(groups: Groups, name: str, past: str) -> tuple[str, str]:
    """Cut past keys and values apart, which are one tensor."""
    if not past:
        return "", ""
    places = [groups.number(place, np.int64) for place in (0, 1)]
    keys, values = (
        groups.node("Gather", [past, place], f"{name}_past_{number}", axis=0)
        for number, place in enumerate(places)
    )
    return keys, values


def _stacked(groups: Groups, node: Any, presents: tuple[str, str]) -> None:
    """Write present keys and values as one tensor, where they are a result."""
    if len(node.output) > 1 and node.output[1]:
        name = f"{groups.prefix}{node.output[1]}"
        parts = [
            groups.unsqueezed(each, 0, f"{name}_{place}") for place, each in enumerate(presents)
        ]
        groups.node("Concat", parts, node.output[1], axis=0)


def _widths(groups: Groups, weights: str, bias: str, attrs: dict[str, Any]) -> list[int]:
    """Return the widths of queries, keys and values."""
    heads, whole = int(attrs["num_heads"]), int((groups.shape(bias or weights) or (0,))[-1])
    widths = list(attrs.get("qkv_hidden_sizes", [whole // _OF_PARTS] * _OF_PARTS))
    fit = len(widths) == _OF_PARTS and sum(widths) == whole and widths[0] == widths[1]
    if not fit or any(width < 1 or width % heads for width in widths):
        raise UnsupportedError(f"widths {widths} of {whole} columns for {heads} heads")
    return widths


def _parts(
    groups: Groups, name: str, whole: str, widths: list[int], axis: int = _OF_PARTS - 1
) -> list[str]:
    """Cut a tensor along one axis."""
    ends = np.cumsum(widths)
    axes = groups.constant(np.array([axis], np.int64))
    parts = []
    for place, (width, end) in enumerate(zip(widths, ends, strict=True)):
        bounds = [groups.constant(np.array([at], np.int64)) for at in (end - width, end)]
        parts.append(groups.node("Slice", [whole, *bounds, axes], f"{name}_part_{place}"))
    return parts


def _seen(
    groups: Groups,
    node: Any,
    parts: list[str],
    masks: tuple[str, str],
    attrs: dict[str, Any],
    past: tuple[str, str],
) -> tuple[str, str]:
    """Write products of heads: the values of tokens, weighted by the softmax of their scores.

    Args:
        groups: of the model.
        node: the attention.
        parts: queries, keys and values, [batch, tokens, width] each; keys and values may be heads.
        masks: which tokens are seen, and what is added to scores; empty where there is none.
        attrs: of the node.
        past: keys and values that come before, [batch, heads, tokens, width]; or empty.

    Returns:
        Keys and values with those that come before.
    """
    mask, addend = masks
    name = f"{groups.prefix}{node.output[0]}"
    shape = groups.constant(np.array([0, 0, int(attrs["num_heads"]), -1], np.int64))
    heads = []
    for place, part in enumerate(parts):
        if groups.rank(part) == _OF_HEADS:
            heads.append(part)
            continue
        split = groups.node("Reshape", [part, shape], f"{name}_heads_{place}")
        heads.append(groups.node("Transpose", [split], f"{name}_turned_{place}", perm=_TOKENS))
    for place, before in enumerate(past, 1):
        if before:
            both = [before, heads[place]]
            heads[place] = groups.node("Concat", both, f"{name}_whole_{place}", axis=2)
    if any(past) or groups.rank(parts[1]) == _OF_HEADS:
        keys = groups.node("Transpose", [heads[1]], f"{name}_keys", perm=_LAST)
    else:  # in one step
        keys = groups.node("Transpose", [f"{name}_heads_1"], f"{name}_keys", perm=_KEYS)
    products = groups.node("MatMul", [heads[0], keys], f"{name}_scores")
    scale = _scale(groups, name, heads[0], float(attrs.get("scale", 0.0)))
    scores = groups.node("Mul", [products, scale], f"{name}_scaled")
    if addend:
        scores = groups.node("Add", [scores, addend], f"{name}_moved")
    if hidden := _hidden(groups, name, products, (node.input[0], mask, past[0]), attrs):
        scores = groups.node("Add", [scores, hidden], f"{name}_masked")
    weights = groups.node("Softmax", [scores], f"{name}_weights", axis=3)
    mixed = groups.node("MatMul", [weights, heads[2]], f"{name}_mixed")
    turned = groups.node("Transpose", [mixed], f"{name}_turned", perm=_TOKENS)
    joined = groups.constant(np.array([*_HEADS, -1], np.int64))
    groups.node("Reshape", [turned, joined], node.output[0])
    groups.ranks = {**groups.ranks, node.output[0]: _OF_PARTS}
    return heads[1], heads[2]


def _scale(groups: Groups, name: str, queries: str, stated: float) -> str:
    """Return the factor of scores: the reciprocal of the root of a head's width, or another."""
    if stated:
        return groups.constant(np.array(stated, np.float32))
    one = groups.constant(np.array(1, np.float32))
    width = groups.node("Cast", [_size(groups, name, queries, 3)], f"{name}_width", to=_float())
    root = groups.node("Sqrt", [width], f"{name}_root")
    return groups.node("Div", [one, root], f"{name}_scale")


def _float() -> int:
    return int(onnx_package().TensorProto.FLOAT)


def _size(groups: Groups, name: str, tensor: str, axis: int) -> str:
    """Return the size of an axis, which is computed at import."""
    shape = groups.node("Shape", [tensor], f"{name}_shape_{len(groups.nodes)}")
    place = groups.constant(np.array(axis, np.int64))
    return groups.node("Gather", [shape, place], f"{name}_size_{len(groups.nodes)}")


def _numbers(groups: Groups, name: str, scores: str, axis: int) -> str:
    """Return the numbers of tokens along an axis of scores, int32 [count]."""
    begin, step = (groups.constant(np.array(number, np.int64)) for number in (0, 1))
    size = _size(groups, name, scores, axis)
    numbers = groups.node("Range", [begin, size, step], f"{name}_range_{len(groups.nodes)}")
    kind = onnx_package().TensorProto.INT32
    return groups.node("Cast", [numbers], f"{name}_numbers_{len(groups.nodes)}", to=kind)


def _hidden(
    groups: Groups, name: str, scores: str, seen: tuple[str, str, str], attrs: dict[str, Any]
) -> str:
    """Return what is added to the scores of tokens that are not seen; nothing if all are.

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        scores: of heads.
        seen: queries, the mask, and the keys that come before; the latter empty for none.
        attrs: of the node.
    """
    queries, mask, past = seen
    zero, low = (
        groups.constant(np.array(number, np.float32))
        for number in (0, attrs.get("mask_filter_value", _HIDDEN))
    )
    hidden = ""
    if mask and not _is_no_mask(groups, mask):
        is_seen = _of_mask(groups, name, scores, queries, mask)
        hidden = groups.node("Where", [is_seen, zero, low], f"{name}_hidden")
    if attrs.get("unidirectional", 0):
        column = groups.constant(np.array([-1, 1], np.int64))
        places = _numbers(groups, name, scores, 2)
        if past:
            kind = onnx_package().TensorProto.INT32
            first = _size(groups, name, past, 2)
            first = groups.node("Cast", [first], f"{name}_first", to=kind)
            places = groups.node("Add", [places, first], f"{name}_places")
        rows = groups.node("Reshape", [places, column], f"{name}_rows")
        later = groups.node("Less", [rows, _numbers(groups, name, scores, 3)], f"{name}_later")
        lowest = groups.constant(np.array(np.finfo(np.float32).min))
        hidden = groups.node("Where", [later, lowest, hidden or zero], f"{name}_past")
    return hidden


def _is_no_mask(groups: Groups, mask: str) -> bool:
    """Tell whether a mask has one number for each sentence, which ONNX Runtime passes over."""
    shape = groups.shapes.get(mask, ())
    return len(shape) == _RAW and shape[1] == 1


def _of_mask(groups: Groups, name: str, scores: str, queries: str, mask: str) -> str:
    """Return which tokens are seen, in a shape that broadcasts with that of scores."""
    rank = groups.rank(mask)
    if rank not in (1, _RAW, _OF_PAIRS):
        raise UnsupportedError(
            f"a mask of {rank} axes" if rank else "of the mask the rank must be known"
        )
    seen = f"{name}_seen"
    if rank == 1:
        return _between(groups, name, scores, mask, *groups.shapes.get(queries, ())[:1])
    if rank == _RAW:
        shape = groups.constant(np.array([0, *_ONES, -1], np.int64))
        wide = groups.node("Reshape", [mask, shape], f"{name}_mask")
    else:
        wide = groups.unsqueezed(mask, 1, f"{name}_mask")
    zero = groups.constant(np.array(0, np.int32))
    return groups.node("Greater", [wide, zero], seen)


def _between(groups: Groups, name: str, scores: str, mask: str, sentences: int = 0) -> str:
    """Return which tokens stand before the ends of their sentences, and not before the beginnings.

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        scores: of heads.
        mask: an end for each sentence; perhaps behind all of them a beginning for each.
        sentences: how many there are, as far as that is known.
    """
    column = groups.constant(np.array([-1, 1, 1, 1], np.int64))
    numbers = _numbers(groups, name, scores, 3)
    count = groups.shapes.get(mask, (sentences,))[0]
    if count not in (sentences, 2 * sentences) and sentences:
        raise UnsupportedError(f"a mask of {count} numbers for {sentences} sentences")
    if not sentences or count == sentences:
        ends = groups.node("Reshape", [mask, column], f"{name}_ends")
        return groups.node("Less", [numbers, ends], f"{name}_seen")
    sides = []
    for place in range(2):
        bounds = [groups.number([sentences * each], np.int64) for each in (place, place + 1)]
        side = groups.node("Slice", [mask, *bounds], f"{name}_side_{place}")
        side = groups.node("Reshape", [side, column], f"{name}_column_{place}")
        sides.append(groups.node("Less", [numbers, side], f"{name}_before_{place}"))
    begun = groups.node("Not", [sides[1]], f"{name}_begun")
    return groups.node("And", [sides[0], begun], f"{name}_seen")
