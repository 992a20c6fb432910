"""Pairs of QuantizeLinear and DequantizeLinear that ONNX Runtime merges, or moves over operators.

It merges the two ranges of a tensor that is quantized twice in a row.
"""

from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.constants import Array
from frontends.onnx.read.names import refuse
from frontends.onnx.read.standard import FLOAT


def join_pairs(graph: Graph) -> None:
    """Replace two pairs of QuantizeLinear and DequantizeLinear by one with their common range.

    Both pairs stay if their dtypes differ, or if scales or zero points are several, missing or not
    constant. In a longer row, the first two pairs are merged first, then the result and the third
    pair. A pair that returns the bytes that it gets is dropped in between, and ends the row.

    Raises:
        UnsupportedOperatorError: both ranges have only 0 in common.
    """
    while dropped := _joined(graph.index()):
        graph.node = [node for node in graph.node if dropped.isdisjoint(node.output)]
        _drop_copies(graph.index())


def _drop_copies(graph: Graph) -> None:
    """Drop each QuantizeLinear whose operand a DequantizeLinear of the same encoding makes."""
    source: dict[str, str] = {}
    for node in graph.node:
        if node.op_type != "QuantizeLinear" or node.output[0] in graph.kept:
            continue
        before, encoding = graph.maker(node.input[0], "DequantizeLinear"), _encoding(graph, node)
        if before is not None and encoding is not None and encoding == _encoding(graph, before):
            source[node.output[0]] = before.input[0]
    for node in graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in source:
            node.input[0] = source[node.input[0]]
    used = graph.index().uses
    graph.node = [
        node for node in graph.node if node.output[0] not in source or node.output[0] in used
    ]


def _chain(graph: Graph, inner: Any) -> list[Any]:
    """Return two pairs that follow each other, and equal copies of the last node.

    ONNX Runtime merges the copies first. Nothing else reads the tensors in between.

    Args:
        graph: the model.
        inner: the second of the four nodes; for any other node there are no pairs.
    """
    if inner.op_type != "DequantizeLinear" or not inner.input:
        return []
    first, second = graph.maker(inner.input[0], "QuantizeLinear"), _next(graph, inner.output[0])
    if first is None or second is None or graph.uses[inner.input[0]] != 1:
        return []
    lasts = graph.readers.get(second.output[0], [])
    alike = {(each.op_type, *each.input) for each in lasts}
    is_whole = graph.uses[second.output[0]] == len(lasts) and len(alike) == 1
    are_pairs = is_whole and lasts[0].op_type == "DequantizeLinear" and first.input
    return [first, inner, second, *lasts] if are_pairs else []


def _joined(graph: Graph) -> set[str]:
    """Merge two pairs, once in each row of pairs; return results that nothing reads any more."""
    dropped, used = set[str](), set[str]()
    for chain in [chain for node in graph.node if (chain := _chain(graph, node))]:
        first, inner, second, *lasts = chain
        encodings = [_encoding(graph, node) for node in chain[:4]]
        one, other = encodings[::2]
        if one is None or other is None or one[2] != other[2] or encodings[1::2] != [one, other]:
            continue
        names = {node.output[0] for node in chain}
        is_later = not used.isdisjoint(names)
        used |= names
        if is_later:
            continue
        if one != other:
            common = _common(one, other)
            if not common[0] > 0:
                reason = "its tensor was quantized before, by a range that has only 0 in common"
                refuse([second], {0: reason})
            constants = [graph.constant(each) for each in common]
            for node in (first, *lasts):
                node.input[1], node.input[2] = constants
        for node in lasts:
            node.input[0] = first.output[0]
        dropped |= {inner.output[0], second.output[0]}
    return dropped


def _encoding(graph: Graph, node: Any) -> tuple[float, int, str] | None:
    """Return scale, zero point and dtype, if they are constants for the whole tensor."""
    scale, point = graph.encoding(node)
    if scale is None or point is None or scale.size != 1 or point.size != 1 or scale.ndim > 1:
        return None
    if scale.dtype != np.float32 or point.dtype.kind not in "iu":
        return None
    return float(scale.item()), int(point.item()), point.dtype.name


def _common(*encodings: tuple[float, int, str]) -> tuple[Array, Array]:
    """Return scale and zero point of the range that two encodings share."""
    info = np.iinfo(encodings[0][2])
    lows, highs = (
        [np.float32(end - point) * np.float32(scale) for scale, point, _ in encodings]
        for end in (info.min, info.max)
    )
    low, high = max(lows), min(highs)
    if not high > low:
        return np.zeros((), np.float32), np.zeros((), encodings[0][2])
    scale = np.float32((high - low) / np.float32(info.max - info.min))
    exact = np.float32(np.float32(info.min) - np.float32(low / scale))
    point = np.trunc(exact + np.copysign(np.float32(0.5), exact))
    return np.asarray(scale), np.asarray(point).astype(encodings[0][2])


_STAYING = {"DepthToSpace", "Expand", "Flatten", "SpaceToDepth", "Tile"}
"""Operators that move values; they move integers only if they are in a group of their own."""


def move_quantization(graph: Graph, node: Any) -> bool:
    """Write pairs around MaxPool, as ONNX Runtime does, and a Cast around operators left in float.

    A Cast from float32 to float32 changes nothing, but it ends a group.
    """
    if node.op_type == "Add":
        _keep_convolution(graph, node)
    is_pool, stays = node.op_type == "MaxPool", node.op_type in _STAYING
    if not (is_pool or stays) or graph.kinds.get(node.input[0]) != FLOAT:
        return False
    is_real = graph.maker(node.input[0], "DequantizeLinear") is None
    after = _next(graph, node.output[0])
    if is_pool and is_real and after is not None:
        if _next(graph, node.input[0]) is None and _is_read_once(graph, node.input[0]):
            node.input[0] = _pair(graph, node.input[0], list(after.input[1:]))
    elif stays and is_real:
        node.input[0] = _cast(graph, node.input[0])
    if after is not None or (is_pool and is_real):
        return False
    output, node.output[0] = node.output[0], _fresh(graph, node.output[0])
    graph.node.append(node)
    if is_pool:
        _pair(graph, node.output[0], list(graph.made[node.input[0]].input[1:]), output)
    else:
        _cast(graph, node.output[0], output)
    return True


def _keep_convolution(graph: Graph, node: Any) -> None:
    """Keep a Conv in float if a constant is added to its result."""
    for index, name in enumerate(node.input):
        if graph.maker(name, "Conv") is not None and node.input[1 - index] in graph.constants:
            node.input[index] = _cast(graph, name)


def _is_read_once(graph: Graph, name: str) -> bool:
    return len(graph.readers.get(name, [])) == 1 and name not in graph.kept


def _next(graph: Graph, name: str) -> Any:
    """Return the QuantizeLinear that is a tensor's only reader, or None."""
    readers = graph.readers.get(name, [])
    is_one = _is_read_once(graph, name) and readers[0].op_type == "QuantizeLinear"
    return readers[0] if is_one else None


def _fresh(graph: Graph, name: str) -> str:
    return f"{graph.prefix}{name}_{len(graph.node)}_kept"


def _cast(graph: Graph, name: str, output: str = "") -> str:
    return graph.apart(name, output or _fresh(graph, name))


def _pair(graph: Graph, name: str, encoding: list[str], output: str = "") -> str:
    middle = graph.add("QuantizeLinear", name, *encoding, output=_fresh(graph, name))
    output = output or _fresh(graph, name)
    return graph.add("DequantizeLinear", middle, *encoding, output=output)
