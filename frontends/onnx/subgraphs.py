"""Inner graphs, written into the graph around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frontends.onnx.constants import move_constants
from frontends.onnx.package import onnx_package

FLOAT = 1
"""float32 among the numbers of element types."""


def inline(
    graph: Any, inner: Any, prefix: str, operands: Mapping[str, str], results: Mapping[int, str]
) -> None:
    """Add the nodes and the constants of an inner graph.

    Args:
        graph: that it becomes a part of.
        inner: the graph, which stays as it is.
        prefix: of the names of what it makes.
        operands: names of the outer graph for those of the inner one's inputs.
        results: the names that its outputs get, by their places; others are left out.
    """
    onnx = onnx_package()
    copy = onnx.GraphProto()
    copy.CopyFrom(inner)
    move_constants(copy)
    names = {name: f"{prefix}{name}" for name in _made(copy)} | dict(operands)
    made = {name for node in copy.node for name in node.output}
    ends = []
    for place, value in enumerate(copy.output):
        if place not in results:
            continue
        if value.name in made:
            names[value.name] = results[place]
            made.remove(value.name)
        else:  # of the graph around it, a constant, an input, or given twice
            ends.append((value.name, results[place]))
    _rename(copy.node, names)
    for tensor in copy.initializer:
        tensor.name = names[tensor.name]
    graph.initializer.extend(copy.initializer)
    graph.node.extend(copy.node)
    for name, output in ends:
        graph.node.append(onnx.helper.make_node("Identity", [names.get(name, name)], [output]))


def keep_apart(graph: Any, inner: Any, given: Mapping[str, int], prefix: str) -> Any:
    """Return a copy of an inner graph that reads tensors through a Cast, which changes nothing.

    No group of ONNX Runtime's has nodes of two graphs.

    Args:
        graph: that the inner one will become a part of, to which the Casts are added.
        inner: the graph.
        given: element types of what nodes of the outer graph make.
        prefix: of names that no tensor has.
    """
    onnx = onnx_package()
    copy = onnx.GraphProto()
    copy.CopyFrom(inner)
    own = {value.name for value in copy.input} | set(_made(copy))
    names = {}
    for name in dict.fromkeys(_read(copy)):
        if name not in own and given.get(name) == FLOAT:
            names[name] = f"{prefix}{name}"
            graph.node.append(onnx.helper.make_node("Cast", [name], [names[name]], to=FLOAT))
    _rename(copy.node, names)
    for value in copy.output:
        value.name = names.get(value.name, value.name)
    return copy


def hoist(graph: Any, inner: Any, prefix: str) -> None:
    """Move the constants of an inner graph, which is written several times, to the outer one."""
    names = {tensor.name: f"{prefix}{tensor.name}" for tensor in inner.initializer}
    for tensor in inner.initializer:
        graph.initializer.add().CopyFrom(tensor)
        graph.initializer[-1].name = names[tensor.name]
    del inner.initializer[:]
    _rename(inner.node, names)
    for value in inner.output:
        value.name = names.get(value.name, value.name)


def read_outside(inner: Any) -> list[str]:
    """Return the names of what an inner graph reads of the graph around it."""
    own = {value.name for value in inner.input} | set(_made(inner))
    return [name for name in dict.fromkeys(_read(inner)) if name and name not in own]


def rename(inner: Any, names: Mapping[str, str]) -> None:
    """Rename what an inner graph reads."""
    _rename(inner.node, names)
    for value in inner.output:
        value.name = names.get(value.name, value.name)


def nodes_of(graph: Any) -> int:
    """Return how many nodes a graph and those in it have."""
    inner = (
        nodes_of(each)
        for node in graph.node
        for attribute in node.attribute
        for each in (attribute.g, *attribute.graphs)
    )
    return len(graph.node) + sum(inner)


def is_of_standard(node: Any, *names: str) -> bool:
    """Tell whether a node is one of these operators of the standard."""
    return node.op_type in names and node.domain in ("", "ai.onnx")


def types_of(graph: Any) -> dict[str, int]:
    """Return the element types of what nodes make, whose shapes were inferred."""
    made = {name for node in graph.node for name in node.output}
    values = (*graph.value_info, *graph.output)
    return {each.name: each.type.tensor_type.elem_type for each in values if each.name in made}


def _made(graph: Any) -> Iterator[str]:
    """Yield the names of what a graph has of its own."""
    yield from (tensor.name for tensor in graph.initializer)
    yield from (name for node in graph.node for name in node.output if name)


def _read(graph: Any) -> Iterator[str]:
    """Yield the names that a graph reads, and those that graphs in it read of it."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from read_outside(inner)
    yield from (value.name for value in graph.output)


def _rename(nodes: Iterable[Any], names: Mapping[str, str]) -> None:
    """Rename what nodes read and give; inner graphs, too, see the names around them."""
    for node in nodes:
        for listed in (node.input, node.output):
            listed[:] = [names.get(name, name) for name in listed]
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                _rename(graph.node, names)
                for value in graph.output:
                    value.name = names.get(value.name, value.name)
