"""The standard's own attention (operator set 23), as ONNX Runtime computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.heads import LOWEST, Heads, capped, joined, mixed, scores_of, split
from frontends.onnx.normalizations import operands_of
from frontends.onnx.package import onnx_package

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

_OF_TOKENS, _OF_HEADS = 3, 4
"""The axes of queries, keys and values that are split into heads here, and of heads."""
_RESULTS = 3
"""The result, and present keys and values."""


def standard_attention(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write an Attention of queries, keys and values."""
    query, key, value, mask, past_key, past_value, lengths = operands_of(inputs, 3, 7)
    _check(groups, node, attrs, (query, key, value))
    name = f"{groups.prefix}{node.output[0]}"
    heads = _heads(groups, (query, key, value), attrs)
    counts = heads.count, heads.shared, heads.shared
    parts = []
    for place, (data, count) in enumerate(zip((query, key, value), counts, strict=True)):
        shape = groups.shape(data)
        if len(shape) == _OF_TOKENS:
            wide = shape[0], shape[1], count, shape[2] // count
            data = split(groups, f"{name}_{place}", data, wide)
        parts.append(data)
    seen = groups.shape(key)[-2]
    for place, past in enumerate((past_key, past_value), 1):
        if past:
            both = [past, parts[place]]
            parts[place] = groups.node("Concat", both, f"{name}_whole_{place}", axis=2)
    before = groups.shape(past_key)[2] if past_key else 0
    for output, present in zip(node.output[1:], parts[1:], strict=False):
        if output:
            groups.node("Identity", [present], output)
    scores = scores_of(groups, name, heads, parts[0], parts[1], float(attrs.get("scale", 0.0)))
    scores = capped(groups, name, scores, float(attrs.get("softcap", 0.0)))
    is_causal = attrs.get("is_causal", 0) and not (before and heads.tokens == 1)
    size = heads.tokens, before + seen
    if addend := _addend(groups, name, mask, size, before if is_causal else None):
        scores = groups.node("Add", [scores, addend], f"{name}_masked")
    if lengths:
        column = groups.node("Reshape", [lengths, _ints(groups, -1, 1, 1, 1)], f"{name}_ends")
        numbers = groups.number(np.arange(size[1]), np.int64)
        is_there = groups.node("Less", [numbers, column], f"{name}_there")
        scores = groups.node("Where", [is_there, scores, groups.number(LOWEST)], f"{name}_padded")
    result = mixed(groups, name, heads, scores, parts[2])
    if mask or lengths:
        result = _seeing(groups, name, scores, result)
    if len(groups.shape(query)) == _OF_HEADS:
        groups.node("Identity", [result], node.output[0])
    else:
        joined(groups, result, node.output[0], heads)


def _seeing(groups: Groups, name: str, scores: str, result: str) -> str:
    """Return results that are 0 for tokens that see none."""
    largest = groups.node(
        "ReduceMax", [scores, groups.number([3], np.int64)], f"{name}_largest", keepdims=1
    )
    sees = groups.node("Greater", [largest, groups.number(LOWEST)], f"{name}_sees")
    return groups.node("Where", [sees, result, groups.number(0)], f"{name}_seeing")


def _check(groups: Groups, node: Any, attrs: dict[str, Any], data: tuple[str, str, str]) -> None:
    if any(node.output[_RESULTS:]):
        raise UnsupportedError("scores as a result are not imported")
    if attrs.get("softmax_precision", 0) not in (0, onnx_package().TensorProto.FLOAT):
        raise UnsupportedError("its softmax must be of float32")
    ranks = {len(groups.shape(each)) for each in data}
    if ranks not in ({_OF_TOKENS}, {_OF_HEADS}):
        raise UnsupportedError("queries, keys and values must have three axes each, or four")


def _heads(groups: Groups, data: tuple[str, str, str], attrs: dict[str, Any]) -> Heads:
    query, key, value = map(groups.shape, data)
    if len(query) == _OF_HEADS:
        return Heads(query[0], query[1], key[1], query[2], query[3], value[3])
    count, shared = int(attrs["q_num_heads"]), int(attrs["kv_num_heads"])
    if count < 1 or shared < 1 or query[2] % count or key[2] % shared or value[2] % shared:
        raise UnsupportedError(f"widths {query[2]} and {key[2]} for {count} and {shared} heads")
    return Heads(query[0], count, shared, query[1], query[2] // count, value[2] // shared)


def _addend(groups: Groups, name: str, mask: str, size: tuple[int, int], before: int | None) -> str:
    """Return what is added to scores: the mask's numbers, and the lowest for what comes later.

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        mask: truth values, or numbers; or empty.
        size: tokens, and those that they see.
        before: how many come before the first one, where none sees a later one.
    """
    later = np.zeros(size, np.bool_)
    if before is not None:
        rows, columns = (np.arange(each) for each in size)
        later = columns > rows[:, None] + before
    if not mask:
        return groups.number(np.where(later, LOWEST, 0)) if later.any() else ""
    if groups.shape(mask)[-1] != size[1]:
        raise UnsupportedError(f"a mask of shape {list(groups.shape(mask))} for {size[1]} tokens")
    addend = mask
    if groups.kinds.get(mask) == onnx_package().TensorProto.BOOL:
        numbers = [groups.number(number) for number in (0, LOWEST)]
        addend = groups.node("Where", [mask, *numbers], f"{name}_mask")
    if not later.any():
        return addend
    return groups.node(
        "Where", [groups.constant(later), groups.number(LOWEST), addend], f"{name}_causal"
    )


def _ints(groups: Groups, *numbers: int) -> str:
    return groups.number(numbers, np.int64)
