"""Changes models that only ONNX Runtime accepts so that the package onnx accepts them, too."""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from frontends.errors import ModelFormatError
from frontends.onnx.read.names import graphs_of, inner_graphs, read_by, read_inside

_WITH_FREE_CONSTANTS = 4
"""The first version of the format in which constants need not be inputs."""

_STATED = "ai.onnx"
"""The standard's domain by name; the package requires the empty name instead."""

FIRST_OPSET, LEAST_OPSET, MOST_OPSET = 7, 10, 28
"""The versions of the standard's operators.

ONNX Runtime accepts versions from the first on. The versions from the second to the last are
imported; the second is the earliest with quantized operators.
"""

_UNDECLARED = {"": MOST_OPSET, "com.microsoft": 1}
"""The version of each domain that ONNX Runtime adds if a model declares only other domains."""


def tidy(proto: Any) -> None:
    """Change a model in place; its results stay the same.

    Nodes come after the nodes whose results they read, also in inner graphs and functions. Unread
    constants are removed; of constants with the same name the last one stays. Graphs without a name
    get one. Domains get versions if the model declares only other domains.

    Raises:
        ModelFormatError: nodes read one another in a circle, or a node reads a tensor that nothing
            makes.
    """
    del proto.metadata_props[:]
    if 0 < proto.ir_version < _WITH_FREE_CONSTANTS:
        proto.ir_version = _WITH_FREE_CONSTANTS
        constants = {tensor.name for tensor in proto.graph.initializer}
        inputs = [value for value in proto.graph.input if value.name not in constants]
        del proto.graph.input[:]
        proto.graph.input.extend(inputs)
    for opset in proto.opset_import:
        opset.domain = "" if opset.domain == _STATED else opset.domain
    if declared := {opset.domain for opset in proto.opset_import}:
        for domain in _UNDECLARED.keys() - declared:
            proto.opset_import.add(domain=domain, version=_UNDECLARED[domain])
    for graph in (proto.graph, *inner_graphs(proto.graph)):
        graph.name = graph.name or "graph"
    _drop_constants(proto.graph)
    for function in proto.functions:
        _order(function.node, (set(function.input),))
    _order_graph(proto.graph, ())


def _drop_constants(graph: Any) -> None:
    read = {*filter(None, read_inside(graph)), *(value.name for value in graph.input)}
    names = [tensor.name for tensor in graph.initializer]
    last = {name: number for number, name in enumerate(names)}
    for number in reversed(range(len(names))):
        if names[number] not in read or last[names[number]] != number:
            del graph.initializer[number]
        elif (tensor := graph.initializer[number]).HasField("raw_data"):
            for other in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(other)


def _order_graph(graph: Any, outer: Sequence[set[str]]) -> None:
    own = {value.name for value in graph.input} | {each.name for each in graph.initializer}
    own |= {each.values.name for each in graph.sparse_initializer}
    _order(graph.node, (own, *outer))


def _order(nodes: Any, scopes: tuple[set[str], ...]) -> None:
    """Sort nodes and the nodes of inner graphs, which see all names of their outer graphs."""
    made = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    needs: list[set[int]] = []
    is_ordered = True
    for number, node in enumerate(nodes):
        if node.domain == _STATED:
            node.domain = ""
        reads = {*filter(None, read_by(node))}
        for name in (*reads, *node.output):
            if isinstance(name, bytes):  # protobuf's form of a name that is no text
                name.decode()
        if odd := [n for n in reads if n not in made and not any(n in each for each in scopes)]:
            raise ModelFormatError(
                f"the ONNX model is malformed: the {node.op_type} of {[*node.output]} reads "
                f"{min(odd, key=repr)!r}, which nothing makes"
            )
        needs.append({made[name] for name in reads if name in made})
        is_ordered &= max(needs[-1], default=-1) < number
    if not is_ordered:
        ranks = iter(_ranks(nodes, needs))
        nodes.sort(key=lambda _: next(ranks))  # sort asks for the keys from left to right
    for node in nodes:
        for inner in graphs_of(node):
            _order_graph(inner, ({*made}, *scopes))


def _ranks(nodes: Any, needs: list[set[int]]) -> list[int]:
    """Return the index of each node: among the nodes that can be next, the file's first is."""
    sorter, ready, ranks = TopologicalSorter(dict(enumerate(needs))), list[int](), [-1] * len(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = [nodes[number] for number in error.args[1][:0:-1]]
        text = ", ".join(f"{node.op_type} {node.output[0]!r}" for node in circle[:8])
        text = f"the ONNX model is malformed: nodes read one another in a circle: {text}"
        raise ModelFormatError(text) from None
    for index in range(len(needs)):
        for number in sorter.get_ready():
            heappush(ready, number)
        ranks[number := heappop(ready)] = index
        sorter.done(number)
    return ranks
