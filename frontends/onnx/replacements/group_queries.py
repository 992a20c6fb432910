"""GroupQueryAttention of large language models, whose heads share keys, as standard nodes.

A decoder step is a form of it: the caller keeps the past, and appends new tokens to it.
"""

from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.standard import INT64
from frontends.onnx.replacements.heads import LOWEST, Heads, far, numbers, slices
from frontends.onnx.replacements.registry import Call, rule
from frontends.onnx.replacements.rotations import Rotation
from qnn_ops.dialect.sizes import is_open

_OPERANDS = 12
"""The number of imported operands: up to the sinks."""


@rule("GroupQueryAttention")
def _group_query_attention(call: Call) -> None:
    """Write a GroupQueryAttention.

    An operand holds the number of tokens of each sentence; the queries are those of its last
    tokens. The keys of earlier tokens are past keys; zeros follow behind all tokens.
    """
    graph, operands = call.graph, call.operands(7, 16)
    query, key, value, past_key, past_value, last, total = operands[:7]
    cosines, sines, own_positions, bias, sinks = operands[7:_OPERANDS]
    if any(operands[_OPERANDS:]):
        raise UnsupportedError("scales of keys and values are not imported")
    if any(call.node.output[3:]):
        raise UnsupportedError("scores as a result are not imported")
    batch, tokens, whole_width = graph.shape(query)
    count, shared = (call.integer(name) for name in ("num_heads", "kv_num_heads"))
    width = whole_width // count if key else whole_width // (count + 2 * shared)
    heads = Heads(graph, batch, count, shared, tokens, width, width)
    parts = _parts(heads, (query, key, value))
    before = graph.shape(past_key)[2] if past_key else 0
    known = graph.value(total).item()
    size = max(known, before)
    lasts = graph.add("Reshape", graph.add("Cast", last, to=INT64), (-1, 1))
    # The first run has no past, even if there are tensors for it.
    is_first = known == tokens
    if is_first:
        firsts = graph.constant(np.zeros((batch, 1), np.int64))
    else:
        firsts = graph.add("Add", lasts, [[1 - tokens]])
        if is_open([tokens, size]):  # a past that may be empty also stands for the first run
            firsts = graph.add("Max", firsts, [[0]])
            if own_positions:
                raise UnsupportedError("positions beside a past of open length")
    if call.integer("do_rotary"):
        is_interleaved = bool(call.integer("rotary_interleaved"))
        rotation = Rotation(graph, cosines, sines, is_interleaved, width, 2)
        positions = _positions(graph, tokens, firsts, own_positions, is_first=is_first)
        parts[:2] = [rotation.turned(part, positions) for part in parts[:2]]
    pasts = [past_key, past_value]
    if call.integer(STEP):
        if bias or is_first:
            raise UnsupportedError("a step with a bias of scores, or without a past")
        _write_step(call, heads, parts, pasts, firsts, sinks)
        return
    queries, kept = heads.turned(parts[0]), []
    for index, past in enumerate(pasts, 1):
        output = call.result(index) or f"{graph.prefix}{call.node.output[0]}_present_{index}"
        sizes = before, size, is_first
        kept.append(_present(heads, output, (parts[index], past), firsts, sizes))
    scores = heads.capped(heads.scores(queries, kept[0], call.real("scale")), call.real("softcap"))
    if bias:
        scores = _biased(graph, scores, bias, (known, size))
    window = call.integer("local_window_size", -1)
    column = graph.add("Reshape", firsts, (-1, 1, 1, 1))
    hidden = far(graph, column, (tokens, size), window - 1, 0)
    scores = graph.add("Where", graph.add("Not", hidden), scores, LOWEST)
    result = heads.mixed(heads.weights(scores, _sinks(call, sinks)), kept[1])
    heads.joined(result, call.node.output[0])


def _positions(graph: Graph, tokens: int, firsts: str, given: str, *, is_first: bool) -> str:
    """Return the positions of tokens, [batch or 1, tokens].

    Args:
        graph: the model.
        tokens: of a sentence.
        firsts: the position of the first of them, [batch, 1], if no positions are given.
        given: positions, or empty.
        is_first: whether this is the first run. In that run ONNX Runtime reads only the first
            position of the first sentence, and counts from it in all sentences.
    """
    if given and not is_first:
        return given
    if given:
        firsts = graph.add("Slice", graph.add("Reshape", given, [-1]), [0], [1])
    return graph.add("Add", firsts, numbers(graph, tokens, (1, -1)))


def _biased(graph: Graph, scores: str, bias: str, sizes: tuple[int, int]) -> str:
    """Return scores plus a bias, [batch or 1, heads or 1, tokens, known].

    Args:
        graph: the model.
        scores: of tokens.
        bias: an addend of the scores.
        sizes: number of tokens of the longest sentence, and of tokens with scores; the tokens
            beyond the former are hidden.
    """
    known, size = sizes
    shape = graph.shape(bias)
    if shape[-1] != known:
        raise UnsupportedError(f"a bias of shape {list(shape)} for {known} tokens")
    if size > known:
        zeros = np.zeros((*shape[:-1], size - known), np.float32)
        bias = graph.add("Concat", bias, zeros, axis=3)
    return graph.add("Add", scores, bias)


def _parts(heads: Heads, data: tuple[str, str, str]) -> list[str]:
    """Return queries, keys and values, [batch, tokens, heads, width]; the file may join them."""
    (query, key, value), add = data, heads.graph.add
    counts = [heads.count, heads.shared, heads.shared]
    start = heads.batch, heads.tokens
    if key and value:
        return [
            add("Reshape", each, (*start, count, heads.width))
            for each, count in zip(data, counts, strict=True)
        ]
    whole = add("Reshape", query, (*start, sum(counts), heads.width))
    return slices(heads.graph, whole, counts, 2)


def _present(
    heads: Heads, output: str, data: tuple[str, str], firsts: str, sizes: tuple[int, int, bool]
) -> str:
    """Write keys or values of all tokens, [batch, heads, size, width].

    Args:
        heads: their sizes.
        output: the name of the result.
        data: keys or values of the queries' tokens, [batch, tokens, heads, width], and of the past.
        firsts: the position of the first of these tokens, [batch, 1].
        sizes: number of tokens of the past and of the result, and whether this is the first run.
    """
    graph, (own, past), (before, size, is_first) = heads.graph, data, sizes
    if is_first:
        return _padded(heads, heads.turned(own), size - heads.tokens, output)
    offsets = graph.add("Sub", numbers(graph, size, (1, -1)), firsts)
    if is_open([heads.tokens]):
        inside = graph.add("Min", graph.add("Max", offsets, 0), heads.tokens - 1)
    else:
        inside = graph.add("Clip", offsets, 0, heads.tokens - 1)
    rows = graph.add("Reshape", inside, (heads.batch, size, 1))
    wide = graph.add("GatherND", own, rows, batch_dims=1, nearest=1)
    moved = heads.turned(wide)
    is_past, is_known = (
        graph.add("Reshape", graph.add("Less", offsets, bound), (heads.batch, 1, size, 1))
        for bound in (0, heads.tokens)
    )
    later = graph.add("Where", is_known, moved, 0.0)
    if not past:
        return graph.add("Where", is_past, 0.0, later, output=output)
    whole = _padded(heads, past, size - before)
    return graph.add("Where", is_past, whole, later, output=output)


def _padded(heads: Heads, data: str, count: int, output: str = "") -> str:
    """Write heads, and behind them a number of tokens of zeros."""
    graph = heads.graph
    if not count:
        return graph.add("Identity", data, output=output)
    shape = heads.batch, heads.shared, count, heads.width
    zeros: Any = np.zeros(1 if is_open(shape) else shape, np.float32)
    if is_open(shape):
        zeros = graph.add("Expand", zeros, shape)
    return graph.add("Concat", data, zeros, output=output, axis=2)


STEP = "tvm_qnn_step"
"""The attribute of a GroupQueryAttention that reads its past keys as columns, [batch, heads, width,
size], and gives the keys and values of its own tokens alone, [batch, heads, tokens, width]."""


def _write_step(
    call: Call, heads: Heads, parts: list[str], pasts: list[str], firsts: str, sinks: str
) -> None:
    """Write a GroupQueryAttention with the attribute STEP. It does not copy the past.

    Args:
        call: the attention.
        heads: their sizes.
        parts: queries, keys and values of the step's tokens, [batch, tokens, heads, width].
        pasts: keys and values of the past; the elements behind them may have any finite value.
        firsts: number of past tokens, [batch, 1].
        sinks: an operand of ``_sinks``.
    """
    graph, queries = call.graph, heads.turned(parts[0])
    keys, values = map(heads.turned, parts[1:], call.node.output[1:])
    scale, cap = call.real("scale"), call.real("softcap")
    size, window = graph.shape(pasts[0])[3], call.integer("local_window_size", -1)
    before = heads.capped(heads.scores_of_columns(queries, pasts[0], scale), cap)
    is_seen = _seen_past(graph, firsts, size, heads.tokens, window)
    before = graph.add("Where", is_seen, before, LOWEST)
    own = heads.capped(heads.scores(queries, keys, scale), cap)
    if hidden := far(graph, 0, (heads.tokens, heads.tokens), window - 1, 0):
        own = graph.add("Where", graph.add("Not", hidden), own, LOWEST)
    weights = heads.weights(graph.add("Concat", before, own, axis=3), _sinks(call, sinks))
    shares = slices(graph, weights, [size, heads.tokens], 3)
    sums = map(heads.mixed, shares, (pasts[1], values))
    heads.joined(graph.add("Add", *sums), call.node.output[0])


def _sinks(call: Call, sinks: str) -> str:
    """Return the scores of one more token, for ``Heads.weights``; empty for none.

    Args:
        call: the attention.
        sinks: a score for each head of queries; empty for none.
    """
    if sinks:
        return call.add("Reshape", sinks, (1, call.integer("num_heads"), 1, 1))
    if call.integer("smooth_softmax"):
        return call.graph.constant(np.zeros((1, 1, 1, 1), np.float32))
    return ""


def _seen_past(graph: Graph, firsts: str, size: int, tokens: int, window: int) -> str:
    """Return which tokens of the past each token sees, [batch, 1, tokens or 1, size]."""
    seen = numbers(graph, size, (1, 1, 1, -1))
    column = graph.add("Reshape", firsts, (-1, 1, 1, 1))
    is_past = graph.add("Less", seen, column)
    if window <= 0:
        return is_past
    last = graph.add("Add", column, (np.arange(tokens) - window).reshape(1, 1, tokens, 1))
    return graph.add("And", is_past, graph.add("Less", last, seen))
