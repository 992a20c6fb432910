"""The standard's own attention (operator set 23), as ONNX Runtime computes it."""

from __future__ import annotations

from dataclasses import dataclass
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
_FLOAT = 1
"""float32 among the numbers of element types."""
_MODES = 4
"""What scores as a result are: products, bounded, masked, or their softmax."""


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
    stages = [scores]
    scores = capped(groups, name, scores, float(attrs.get("softcap", 0.0)))
    stages.append(scores)
    size = heads.tokens, before + seen
    hidden = _hidden(groups, name, attrs, size, _Before(before, lengths if not past_key else ""))
    if addend := _addend(groups, name, mask, size, hidden):
        scores = groups.node("Add", [scores, addend], f"{name}_masked")
    if lengths:
        column = groups.node("Reshape", [lengths, _ints(groups, -1, 1, 1, 1)], f"{name}_ends")
        numbers = groups.number(np.arange(size[1]), np.int64)
        is_there = groups.node("Less", [numbers, column], f"{name}_there")
        scores = groups.node("Where", [is_there, scores, groups.number(LOWEST)], f"{name}_padded")
    stages.append(scores)
    sees = _sees(groups, name, scores) if mask or lengths or hidden else ""
    result = _or_zero(groups, name, sees, mixed(groups, name, heads, scores, parts[2]))
    if wanted := (*node.output, *[""] * (_RESULTS + 1))[_RESULTS]:
        # The softmax is the one that the result is made of.
        weights = _or_zero(groups, f"{name}_share", sees, f"{name}_weights")
        stage = [*stages, weights][int(attrs.get("qk_matmul_output_mode", 0))]
        groups.node("Identity", [stage], wanted)
    if len(groups.shape(query)) == _OF_HEADS:
        groups.node("Identity", [result], node.output[0])
    else:
        joined(groups, result, node.output[0], heads)


def _sees(groups: Groups, name: str, scores: str) -> str:
    """Return which tokens see any other."""
    largest = groups.node(
        "ReduceMax", [scores, groups.number([3], np.int64)], f"{name}_largest", keepdims=1
    )
    return groups.node("Greater", [largest, groups.number(LOWEST)], f"{name}_sees")


def _or_zero(groups: Groups, name: str, sees: str, result: str) -> str:
    """Return results that are 0 for tokens that see none."""
    if not sees:
        return result
    return groups.node("Where", [sees, result, groups.number(0)], f"{name}_seeing")


def _check(groups: Groups, node: Any, attrs: dict[str, Any], data: tuple[str, str, str]) -> None:
    if groups.kinds.get(data[0], _FLOAT) != _FLOAT:
        raise UnsupportedError("queries, keys and values must be float32")
    if attrs.get("qk_matmul_output_mode", 0) not in range(_MODES):
        raise UnsupportedError(f"qk_matmul_output_mode is {attrs['qk_matmul_output_mode']}")
    if attrs.get("softmax_precision", 0) not in (0, _FLOAT):
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


@dataclass(frozen=True)
class _Before:
    """How many tokens come before the first one whose result is computed.

    Attributes:
        count: if it is the same for all sentences.
        lengths: the tensor of how many are seen and computed in all of each sentence, or empty.
    """

    count: int
    lengths: str


def _hidden(
    groups: Groups, name: str, attrs: dict[str, Any], size: tuple[int, int], before: _Before
) -> str:
    """Return which tokens are too far after, or before, the one that looks; empty for none.

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        attrs: of the operator: whether later ones are seen, and its window.
        size: tokens, and those that they see.
        before: how many come before the first one.
    """
    left, right = (int(attrs.get(f"{side}_window_size", -1)) for side in ("left", "right"))
    if attrs.get("is_causal", 0):
        right = 0
    rows, columns = (np.arange(each) for each in size)
    bounds = [("Greater", right)] * (right >= 0) + [("Less", -left)] * (left >= 0)
    if before.lengths and bounds:
        ends = groups.node("Reshape", [before.lengths, _ints(groups, -1, 1, 1, 1)], f"{name}_whole")
        places = groups.number(rows.reshape(-1, 1) - size[0], np.int64)
        places = groups.node("Add", [ends, places], f"{name}_places")
        found = []
        for comparison, distance in bounds:
            bound = groups.node("Add", [places, _ints(groups, distance)], f"{name}_{comparison}")
            operands = [groups.number(columns, np.int64), bound]
            found.append(groups.node(comparison, operands, f"{name}_is_{comparison}"))
        return found[0] if len(found) == 1 else groups.node("Or", found, f"{name}_outside")
    distances = columns - rows.reshape(-1, 1) - before.count
    outside = np.zeros(size, np.bool_)
    for comparison, distance in bounds:
        outside |= distances > distance if comparison == "Greater" else distances < distance
    return groups.constant(outside) if outside.any() else ""


def _addend(groups: Groups, name: str, mask: str, size: tuple[int, int], hidden: str) -> str:
    """Return what is added to scores: the mask's numbers, and the lowest for what is hidden.

    Args:
        groups: of the model.
        name: what names of tensors begin with.
        mask: truth values, or numbers; or empty.
        size: tokens, and those that they see.
        hidden: truth values of what is not seen whatever the mask is; or empty.
    """
    if not mask and not hidden:
        return ""
    lowest, addend = groups.number(LOWEST), groups.number(0)
    if mask and groups.shape(mask)[-1] != size[1]:
        raise UnsupportedError(f"a mask of shape {list(groups.shape(mask))} for {size[1]} tokens")
    if mask and groups.kinds.get(mask) == onnx_package().TensorProto.BOOL:
        addend = groups.node("Where", [mask, addend, lowest], f"{name}_mask")
    elif mask:
        addend = mask
    return groups.node("Where", [hidden, lowest, addend], f"{name}_hidden") if hidden else addend


def _ints(groups: Groups, *numbers: int) -> str:
    return groups.number(numbers, np.int64)
