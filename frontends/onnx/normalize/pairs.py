"""Tensors that are quantized twice in a row: ONNX Runtime merges the two ranges into one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.constants import Array
from frontends.onnx.read.names import refuse

_TWO_PAIRS = ["QuantizeLinear", "DequantizeLinear"] * 2


def join_pairs(graph: Graph) -> None:
    """Replace two pairs of QuantizeLinear and DequantizeLinear by one with their common range.

    Both pairs stay if their dtypes differ, or if scales or zero points are several, missing or not
    constant. In a longer row, the first two pairs are merged first, then the result and the third
    pair. A pair that returns the bytes that it gets is dropped in between, and ends the row.

    Raises:
        UnsupportedOperatorError: both ranges have only 0 in common.
    """
    while dropped := _joined(graph.index()):
        graph.node = [node for number, node in enumerate(graph.node) if number not in dropped]
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


def _twice_quantized(nodes: list[Any], uses: Mapping[str, int]) -> list[list[int]]:
    """Find two pairs of QuantizeLinear and DequantizeLinear that follow each other.

    ONNX Runtime merges equal nodes first, so the first of several equal last nodes counts.
    """
    made = {name: number for number, node in enumerate(nodes) for name in node.output}
    lasts: dict[tuple[str, ...], list[int]] = {}
    for number, node in enumerate(nodes):
        if node.op_type == _TWO_PAIRS[-1]:
            lasts.setdefault(tuple(node.input), []).append(number)

    def chain(number: int, count: int) -> list[int]:
        """Return the indices of the nodes in a row that ends at one of several equal nodes.

        Each node of the row has one reader; only the equal nodes share their operand.
        """
        found = [number]
        while len(found) < len(_TWO_PAIRS) and (names := nodes[found[0]].input):
            if uses[names[0]] != (count if len(found) == 1 else 1) or names[0] not in made:
                break
            found.insert(0, made[names[0]])
        return found

    chains = [chain(numbers[0], len(numbers)) for numbers in lasts.values()]
    return [found for found in chains if [nodes[i].op_type for i in found] == _TWO_PAIRS]


def _joined(graph: Graph) -> set[int]:
    """Merge two pairs, once in each row of pairs; return the nodes that nothing reads any more."""
    nodes = graph.node
    dropped, used = set[int](), set[int]()
    for chain in sorted(_twice_quantized(nodes, graph.uses), key=lambda chain: chain[1]):
        first, inner, second, last = chain
        one, other = (_encoding(graph, nodes[each]) for each in (first, second))
        if one is None or other is None or one[2] != other[2]:
            continue
        if (one, other) != tuple(_encoding(graph, nodes[each]) for each in (inner, last)):
            continue
        is_later = not used.isdisjoint(chain)
        used.update(chain)
        if is_later:
            continue
        lasts = [node for node in nodes if _are_alike(node, nodes[last])]
        if one != other:
            common = _common(one, other)
            if not common[0] > 0:
                reason = "its tensor was quantized before, by a range that has only 0 in common"
                refuse(nodes, {second: reason})
            names = [graph.constant(each) for each in common]
            for node in (nodes[first], *lasts):
                node.input[1], node.input[2] = names
        for node in lasts:
            node.input[0] = nodes[first].output[0]
        dropped |= {inner, second}
    return dropped


def _are_alike(node: Any, other: Any) -> bool:
    return bool(node.op_type == other.op_type and node.input[:] == other.input[:])


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
