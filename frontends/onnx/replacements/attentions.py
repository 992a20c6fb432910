"""Attention as simpler nodes: ONNX Runtime's own operators, and the standard's of set 23."""

from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.standard import FLOAT, INT32
from frontends.onnx.replacements.heads import (
    LOWEST,
    OF_HEADS,
    OF_TOKENS,
    TOKENS_LAST,
    Heads,
    far,
    numbers,
    slices,
)
from frontends.onnx.replacements.products import product
from frontends.onnx.replacements.registry import Call, rule

_HIDDEN = -10000.0
"""The addend of the score of a hidden token."""
_PARTS = 3
"""Queries, keys and values."""
_RAW, _OF_PAIRS = 2, 3
"""The number of axes of a mask with a number per token, or per pair of tokens."""


@rule("Attention")
def _attention(call: Call) -> None:
    """Write an Attention: products with weights, split into heads, and their attention.

    The standard's Attention is another operator.
    """
    if call.node.domain != "com.microsoft":
        standard_attention(call)
        return
    data, weights, bias, mask, past, addend, count = call.operands(_PARTS, 7)
    _check(call, [count], results=2)
    whole = call.add("Add", call.add("MatMul", data, weights), bias)
    _write_joined(call, whole, (weights, bias), (mask, addend), past)


@rule("QAttention")
def _quantized_attention(call: Call) -> None:
    """Write an Attention of bytes, whose products are integers."""
    operands = call.operands(5, 9)
    data, weights, bias, data_scale, scale, mask, data_point, point, past = operands
    _check(call, [], results=2)
    scales = data_scale, scale
    whole = product(call.graph, [data, weights, data_point, point], scales, bias)
    _write_joined(call, whole, (weights, bias), (mask, ""), past)


def _write_joined(
    call: Call, whole: str, constants: tuple[str, str], masks: tuple[str, str], past: str
) -> None:
    """Write the attention of one tensor of queries, keys and values.

    Args:
        call: the attention.
        whole: the tensor.
        constants: the weights and the bias that it was made with.
        masks: as in ``_seen``.
        past: a tensor of past keys and values; empty for none.
    """
    parts = slices(call.graph, whole, _widths(call, *constants), OF_TOKENS - 1)
    pasts = [call.add("Gather", past, index, axis=0) if past else "" for index in range(2)]
    presents = _seen(call, parts, masks, pasts)
    if output := call.result(1):
        wide = [call.graph.unsqueezed(each, 0) for each in presents]
        call.add("Concat", *wide, output=output, axis=0)


@rule("MultiHeadAttention")
def _multi_head_attention(call: Call) -> None:
    """Write a MultiHeadAttention of queries, keys and values that other nodes compute."""
    graph, operands = call.graph, call.operands(1, 10)
    query, key, value, bias, mask, addend, past_key, past_value, *shared = operands
    _check(call, shared, results=_PARTS)
    if not key or not value or graph.rank(key) > OF_HEADS:
        raise UnsupportedError("packed keys or values: ONNX Runtime's CPU provider has none")
    ranks = [graph.rank(each) for each in (query, key, value)]
    if ranks != [OF_TOKENS] * _PARTS and (ranks != [OF_TOKENS, OF_HEADS, OF_HEADS] or bias):
        raise UnsupportedError(
            "queries, keys and values must have three axes that are known; of keys and values that "
            "are heads, which have four, there can be no bias"
        )
    parts = [query, key, value]
    if bias:
        width = graph.value(bias).size // _PARTS
        biases = slices(graph, bias, [width] * _PARTS, 0)
        parts = [graph.add("Add", *each) for each in zip(parts, biases, strict=True)]
    presents = _seen(call, parts, (mask, addend), [past_key, past_value])
    for index, present in enumerate(presents, 1):
        if output := call.result(index):
            graph.add("Identity", present, output=output)


def _check(call: Call, shared: list[str], *, results: int) -> None:
    """Refuse operands, attributes and results that are not imported.

    Args:
        call: the attention.
        shared: the operands of a cache that holds past and present keys.
        results: the most results: its own, and present keys and values.
    """
    if any(shared) or call.integer("past_present_share_buffer"):
        raise UnsupportedError("past and present keys that share memory are not imported")
    if any(call.node.output[results:]):
        raise UnsupportedError("scores as a result are not imported")
    if call.integer("do_rotary"):
        raise UnsupportedError("do_rotary is not imported")
    if (heads := call.integer("num_heads")) < 1:
        raise UnsupportedError(f"num_heads is {heads}")


def _widths(call: Call, weights: str, bias: str) -> list[int]:
    """Return the widths of queries, keys and values."""
    heads, shape = call.integer("num_heads"), call.graph.shape(bias or weights)
    whole = int((shape or (0,))[-1])
    widths = list(call.attributes.get("qkv_hidden_sizes", [whole // _PARTS] * _PARTS))
    fit = len(widths) == _PARTS and sum(widths) == whole and widths[0] == widths[1]
    if not fit or any(width < 1 or width % heads for width in widths):
        raise UnsupportedError(f"widths {widths} of {whole} columns for {heads} heads")
    return widths


def _seen(call: Call, parts: list[str], masks: tuple[str, str], past: list[str]) -> tuple[str, str]:
    """Write the attention of heads: values of tokens, weighted by the softmax of their scores.

    Args:
        call: the attention.
        parts: queries, keys and values, [batch, tokens, width] each; keys and values may be heads.
        masks: the mask of visible tokens, and the addend of scores; empty if there is none.
        past: past keys and values, [batch, heads, tokens, width]; or empty.

    Returns:
        Keys and values, including the past ones.
    """
    graph, (mask, addend) = call.graph, masks
    shape = [0, 0, call.integer("num_heads"), -1]
    split, heads = list(parts), list(parts)
    for index, part in enumerate(parts):
        if graph.rank(part) != OF_HEADS:
            split[index] = graph.add("Reshape", part, shape)
            heads[index] = graph.add("Transpose", split[index], perm=TOKENS_LAST)
    are_heads = graph.rank(parts[1]) == OF_HEADS
    for index, before in enumerate(past, 1):
        if before:
            heads[index] = graph.add("Concat", before, heads[index], axis=2)
    if any(past) or are_heads:
        keys = graph.add("Transpose", heads[1], perm=[0, 1, 3, 2])
    else:  # in one step
        keys = graph.add("Transpose", split[1], perm=[0, 2, 3, 1])
    products = graph.add("MatMul", heads[0], keys)
    scale = call.real("scale") or _scale(graph, heads[0])
    scores = graph.add("Mul", products, scale)
    if addend:
        scores = graph.add("Add", scores, addend)
    if hidden := _hidden(call, products, mask, past[0]):
        scores = graph.add("Add", scores, hidden)
    weights = graph.add("Softmax", scores, axis=3)
    turned = graph.add("Transpose", graph.add("MatMul", weights, heads[2]), perm=TOKENS_LAST)
    call.end("Reshape", turned, [0, 0, -1])
    graph.ranks = {**graph.ranks, call.node.output[0]: OF_TOKENS}
    return heads[1], heads[2]


def _scale(graph: Graph, queries: str) -> str:
    """Return the reciprocal of the square root of a head's width."""
    one = graph.constant(1.0)
    width = graph.add("Cast", _size(graph, queries, 3), to=FLOAT)
    return graph.add("Div", one, graph.add("Sqrt", width))


def _size(graph: Graph, tensor: str, axis: int) -> str:
    """Return the size of an axis, which folding computes at import."""
    return graph.add("Gather", graph.add("Shape", tensor), axis)


def _numbers(graph: Graph, scores: str, axis: int) -> str:
    """Return the indices of tokens along an axis of scores, int32 [count]."""
    numbers = graph.add("Range", 0, _size(graph, scores, axis), 1)
    return graph.add("Cast", numbers, to=INT32)


def _hidden(call: Call, scores: str, mask: str, past: str) -> str:
    """Return the addend that hides tokens in the scores; nothing if all tokens are visible.

    Args:
        call: the attention; its first operand holds the queries.
        scores: of heads.
        mask: of visible tokens; empty for none.
        past: past keys; empty for none.
    """
    graph, hidden = call.graph, ""
    if mask and not _is_no_mask(graph, mask):
        is_seen = _of_mask(graph, scores, call.node.input[0], mask)
        hidden = graph.add("Where", is_seen, 0.0, call.real("mask_filter_value", _HIDDEN))
    if call.integer("unidirectional"):
        positions = _numbers(graph, scores, 2)
        if past:
            first = graph.add("Cast", _size(graph, past, 2), to=INT32)
            positions = graph.add("Add", positions, first)
        rows = graph.add("Reshape", positions, [-1, 1])
        later = graph.add("Less", rows, _numbers(graph, scores, 3))
        hidden = graph.add("Where", later, LOWEST, hidden or 0.0)
    return hidden


def _is_no_mask(graph: Graph, mask: str) -> bool:
    """Tell whether a mask has one number per sentence, which ONNX Runtime ignores."""
    shape = graph.shapes.get(mask, ())
    return len(shape) == _RAW and shape[1] == 1


def _of_mask(graph: Graph, scores: str, queries: str, mask: str) -> str:
    """Return which tokens are visible, in a shape that broadcasts to the scores'."""
    rank = graph.rank(mask)
    if rank not in (1, _RAW, _OF_PAIRS):
        raise UnsupportedError(
            f"a mask of {rank} axes" if rank else "of the mask the rank must be known"
        )
    if rank == 1:
        return _between(graph, scores, mask, *graph.shapes.get(queries, ())[:1])
    is_raw, zero = rank == _RAW, np.array(0, np.int32)
    wide = graph.add("Reshape", mask, [0, 1, 1, -1]) if is_raw else graph.unsqueezed(mask, 1)
    return graph.add("Greater", wide, zero)


def _between(graph: Graph, scores: str, mask: str, sentences: int = 0) -> str:
    """Return which tokens lie between the beginnings and the ends of their sentences.

    Args:
        graph: the model.
        scores: of heads.
        mask: an end for each sentence; behind all ends perhaps a beginning for each sentence.
        sentences: number of sentences; 0 if not known.
    """
    column = [-1, 1, 1, 1]
    numbers = _numbers(graph, scores, 3)
    count = graph.shapes.get(mask, (sentences,))[0]
    if count not in (sentences, 2 * sentences) and sentences:
        raise UnsupportedError(f"a mask of {count} numbers for {sentences} sentences")
    is_two = 0 < sentences < count
    sides = slices(graph, mask, [sentences] * 2, 0) if is_two else [mask]
    before = [graph.add("Less", numbers, graph.add("Reshape", side, column)) for side in sides]
    return graph.add("And", before[0], graph.add("Not", before[1])) if before[1:] else before[0]


_RESULTS = 3
"""The number of results: the attention, and present keys and values."""
_MODES = 4
"""The number of forms of scores as a result: products, bounded, masked, or their softmax."""


def standard_attention(call: Call) -> None:
    """Write an Attention of queries, keys and values."""
    graph, operands = call.graph, call.operands(3, 7)
    query, key, value, mask, past_key, past_value, lengths = operands
    _check_standard(call, operands[:3])
    heads = _heads(call, operands[:3])
    queries, keys, values = (
        _split(heads, data, count)
        for data, count in ((query, heads.count), (key, heads.shared), (value, heads.shared))
    )
    if past_key:
        keys = graph.add("Concat", past_key, keys, axis=2)
    if past_value:
        values = graph.add("Concat", past_value, values, axis=2)
    for index, present in enumerate((keys, values), 1):
        if output := call.result(index):
            graph.add("Identity", present, output=output)
    stages = [heads.scores(queries, keys, call.real("scale"))]
    scores = heads.capped(stages[0], call.real("softcap"))
    stages.append(scores)
    before = graph.shape(past_key)[2] if past_key else 0
    size = heads.tokens, before + graph.shape(key)[-2]
    ends = graph.add("Reshape", lengths, [-1, 1, 1, 1]) if lengths else ""
    left, right = (call.integer(f"{side}_window_size", -1) for side in ("left", "right"))
    sides = left, 0 if call.integer("is_causal") else right
    first: Any = before
    if lengths and not past_key and max(sides) >= 0:  # a length counts all tokens
        first = graph.add("Sub", ends, heads.tokens)
    hidden = far(graph, first, size, *sides)
    if addend := _addend(graph, mask, size, hidden):
        scores = graph.add("Add", scores, addend)
    if lengths:
        is_there = graph.add("Less", numbers(graph, size[1], (-1,)), ends)
        scores = graph.add("Where", is_there, scores, LOWEST)
    stages.append(scores)
    sees = ""
    if mask or lengths or hidden:
        sees = graph.add("Greater", graph.add("ReduceMax", scores, [3], keepdims=1), LOWEST)
    weights = heads.weights(scores)
    result = _or_zero(graph, sees, heads.mixed(weights, values))
    if wanted := call.result(_RESULTS):
        stages.append(_or_zero(graph, sees, weights))
        graph.add("Identity", stages[call.integer("qk_matmul_output_mode")], output=wanted)
    if len(graph.shape(query)) == OF_HEADS:
        call.end("Identity", result)
    else:
        heads.joined(result, call.node.output[0])


def _or_zero(graph: Graph, sees: str, result: str) -> str:
    """Return results in which a token that sees no token is 0."""
    return graph.add("Where", sees, result, 0.0) if sees else result


def _split(heads: Heads, data: str, count: int) -> str:
    """Return data split into heads, which it may be already."""
    shape = heads.graph.shape(data)
    if len(shape) == OF_HEADS:
        return data
    sizes = shape[0], shape[1], count, shape[2] // count
    return heads.turned(heads.graph.add("Reshape", data, sizes))


def _check_standard(call: Call, data: list[str]) -> None:
    if call.graph.kinds.get(data[0], FLOAT) != FLOAT:
        raise UnsupportedError("queries, keys and values must be float32")
    if (mode := call.integer("qk_matmul_output_mode")) not in range(_MODES):
        raise UnsupportedError(f"qk_matmul_output_mode is {mode}")
    if call.integer("softmax_precision") not in (0, FLOAT):
        raise UnsupportedError("its softmax must be of float32")
    ranks = {len(call.graph.shape(each)) for each in data}
    if ranks not in ({OF_TOKENS}, {OF_HEADS}):
        raise UnsupportedError("queries, keys and values must have three axes each, or four")


def _heads(call: Call, data: list[str]) -> Heads:
    query, key, value = map(call.graph.shape, data)
    if len(query) == OF_HEADS:
        return Heads(call.graph, query[0], query[1], key[1], query[2], query[3], value[3])
    count, shared = (call.integer(name) for name in ("q_num_heads", "kv_num_heads"))
    if count < 1 or shared < 1 or query[2] % count or key[2] % shared or value[2] % shared:
        raise UnsupportedError(f"widths {query[2]} and {key[2]} for {count} and {shared} heads")
    widths = query[2] // count, value[2] // shared
    return Heads(call.graph, query[0], count, shared, query[1], *widths)


def _addend(graph: Graph, mask: str, size: tuple[int, int], hidden: str) -> str:
    """Return the addend of scores: the mask's numbers, and the lowest number for hidden tokens.

    Args:
        graph: the model.
        mask: truth values, or numbers; or empty.
        size: number of tokens, and of tokens that they see.
        hidden: truth values of tokens that are hidden for every mask; or empty.
    """
    if not mask and not hidden:
        return ""
    if mask and graph.shape(mask)[-1] != size[1]:
        raise UnsupportedError(f"a mask of shape {list(graph.shape(mask))} for {size[1]} tokens")
    addend: Any = mask or 0.0
    if mask and graph.dtype(mask) == "bool":
        addend = graph.add("Where", mask, 0.0, LOWEST)
    return graph.add("Where", hidden, LOWEST, addend) if hidden else str(addend)
