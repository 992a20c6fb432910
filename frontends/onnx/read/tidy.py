"""What ONNX Runtime takes and the package onnx does not, brought to what both take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

from frontends.errors import ModelFormatError
from frontends.onnx.read.names import graphs_of, inner_graphs, read_outside

_WITH_FREE_CONSTANTS = 4
"""The first version of the format in which constants need not be inputs."""

_STATED = "ai.onnx"
"""The standard's domain by its name, for which the package wants the empty one."""

FIRST_OPSET, LEAST_OPSET, MOST_OPSET = 7, 10, 28
"""The versions of the standard's operators.

The first is the earliest that ONNX Runtime takes. Those from the second to the last are imported;
the second is the earliest with quantized operators.
"""

_UNDECLARED = {"": MOST_OPSET, "com.microsoft": 1}
"""The version of each domain that ONNX Runtime adds where a model declares others alone."""


def tidy(proto: Any) -> None:
    """Change a model in place; it computes what it did.

    Nodes come after those whose results they read, in inner graphs and functions, too. Constants
    that nothing reads go, and so do all but the last one of a name. Graphs get names, and outputs
    types, where they have none. Domains get versions where the model declares others alone.

    Raises:
        ModelFormatError: nodes read one another in a circle, or a node reads what nothing makes.
    """
    del proto.metadata_props[:]
    if 0 < proto.ir_version < _WITH_FREE_CONSTANTS:
        proto.ir_version = _WITH_FREE_CONSTANTS
    for opset in proto.opset_import:
        opset.domain = "" if opset.domain == _STATED else opset.domain
    if declared := {opset.domain for opset in proto.opset_import}:
        for domain in _UNDECLARED.keys() - declared:
            proto.opset_import.add(domain=domain, version=_UNDECLARED[domain])
    for graph in (proto.graph, *inner_graphs(proto.graph)):
        graph.name = graph.name or "graph"
    for value in proto.graph.output:
        if value.type.WhichOneof("value") is None:
            value.type.tensor_type.elem_type = 0
    _drop_constants(proto.graph)
    for function in proto.functions:
        _order(function.node, (set(function.input),))
    _order_graph(proto.graph, ())


def _drop_constants(graph: Any) -> None:
    read = {*read_outside_of_nodes(graph.node)}
    read |= {value.name for value in (*graph.input, *graph.output)}
    names = [tensor.name for tensor in graph.initializer]
    last = {name: number for number, name in enumerate(names)}
    for number in reversed(range(len(names))):
        if names[number] not in read or last[names[number]] != number:
            del graph.initializer[number]
        elif (tensor := graph.initializer[number]).HasField("raw_data"):
            for other in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(other)


def read_outside_of_nodes(nodes: Any) -> Iterator[str]:
    """Yield the names that nodes read, in their inner graphs, too."""
    for node in nodes:
        yield from filter(None, node.input)
        for inner in graphs_of(node):
            yield from read_outside(inner)


def _order_graph(graph: Any, outer: Sequence[set[str]]) -> None:
    own = {value.name for value in graph.input} | {each.name for each in graph.initializer}
    own |= {each.values.name for each in graph.sparse_initializer}
    _order(graph.node, (own, *outer))


def _order(nodes: Any, scopes: tuple[set[str], ...]) -> None:
    """Bring nodes into order, and those of inner graphs, which see all names around them."""
    made = {name: number for number, node in enumerate(nodes) for name in node.output if name}
    needs: list[set[int]] = []
    is_ordered = True
    for number, node in enumerate(nodes):
        if node.domain == _STATED:
            node.domain = ""
        reads = {*read_outside_of_nodes([node])}
        for name in (*reads, *node.output):
            if isinstance(name, bytes):  # as protobuf gives what is no text
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
        nodes.sort(key=lambda _: next(ranks))  # which asks for the keys from left to right
    for node in nodes:
        for inner in graphs_of(node):
            _order_graph(inner, ({*made}, *scopes))


def _ranks(nodes: Any, needs: list[set[int]]) -> list[int]:
    """Return the place of each node: of those that can be next, the first of the file is."""
    sorter, ready, ranks = TopologicalSorter(dict(enumerate(needs))), list[int](), [-1] * len(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = [nodes[number] for number in error.args[1][:0:-1]]
        text = ", ".join(f"{node.op_type} {node.output[0]!r}" for node in circle[:8])
        text = f"the ONNX model is malformed: nodes read one another in a circle: {text}"
        raise ModelFormatError(text) from None
    for place in range(len(needs)):
        for number in sorter.get_ready():
            heappush(ready, number)
        ranks[number := heappop(ready)] = place
        sorter.done(number)
    return ranks
