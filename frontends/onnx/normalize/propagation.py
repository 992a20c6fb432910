"""Quantization that ONNX Runtime moves over operators, and operators where it does not."""

from typing import Any

from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.standard import FLOAT

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
