"""The standard's own attention (operator set 23), as ONNX Runtime computes it."""

from typing import Any

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.standard import FLOAT
from frontends.onnx.replacements.heads import LOWEST, OF_HEADS, OF_TOKENS, Heads, far, numbers
from frontends.onnx.replacements.registry import Call

_RESULTS = 3
"""The number of results: the attention, and present keys and values."""
_MODES = 4
"""The number of forms of scores as a result: products, bounded, masked, or their softmax."""


def standard_attention(call: Call) -> None:
    """Write an Attention of queries, keys and values."""
    graph, operands = call.graph, call.operands(3, 7)
    query, key, value, mask, past_key, past_value, lengths = operands
    _check(call, operands[:3])
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
    sides = _sides(call)
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


def _check(call: Call, data: list[str]) -> None:
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


def _sides(call: Call) -> tuple[int, int]:
    """Return how many tokens behind, and before, a token sees; negative for any number."""
    left, right = (call.integer(f"{side}_window_size", -1) for side in ("left", "right"))
    return left, 0 if call.integer("is_causal") else right


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
