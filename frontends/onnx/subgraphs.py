"""Inner graphs, written into the graph around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frontends.onnx.constants import move_constants
from frontends.onnx.graph import Graph, copied
from frontends.onnx.names import graphs_of, inner_graphs

FLOAT = 1
"""float32 among the numbers of element types."""


def inline(
    graph: Graph, inner: Any, prefix: str, operands: Mapping[str, str], results: Mapping[int, str]
) -> None:
    """Add the nodes and the constants of an inner graph.

    Args:
        graph: that it becomes a part of.
        inner: the graph, which stays as it is.
        prefix: of the names of what it makes.
        operands: names of the outer graph for those of the inner one's inputs.
        results: the names that its outputs get, by their places; others are left out.
    """
    copy = copied(inner)
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
    graph.constants.update((names[tensor.name], tensor) for tensor in copy.initializer)
    graph.node.extend(copy.node)
    for name, output in ends:
        graph.add("Identity", names.get(name, name), output=output)


def keep_apart(graph: Graph, inner: Any, typed: Graph, prefix: str) -> Any:
    """Return a copy of an inner graph that reads tensors through a Cast, which changes nothing.

    No group of ONNX Runtime's has nodes of two graphs.

    Args:
        graph: that the inner one will become a part of, to which the Casts are added.
        inner: the graph.
        typed: the same graph, with the types of what its nodes make.
        prefix: of names that no tensor has.
    """
    copy, made = copied(inner), typed.makers()
    own = {value.name for value in copy.input} | set(_made(copy))
    names = {}
    for name in dict.fromkeys(_read(copy)):
        if name not in own and name in made and typed.kinds.get(name) == FLOAT:
            names[name] = graph.add("Cast", name, output=f"{prefix}{name}", to=FLOAT)
    rename(copy, names)
    return copy


def hoist(graph: Graph, inner: Any, prefix: str) -> None:
    """Move the constants of an inner graph, which is written several times, to the outer one."""
    names = {tensor.name: f"{prefix}{tensor.name}" for tensor in inner.initializer}
    graph.constants.update((names[tensor.name], copied(tensor)) for tensor in inner.initializer)
    del inner.initializer[:]
    rename(inner, names)


def read_outside(inner: Any) -> list[str]:
    """Return the names of what an inner graph reads of the graph around it."""
    own = {value.name for value in inner.input} | set(_made(inner))
    return [name for name in dict.fromkeys(_read(inner)) if name and name not in own]


def rename(inner: Any, names: Mapping[str, str]) -> None:
    """Rename what an inner graph reads and gives; graphs in it, too, see the names around them."""
    _rename(inner.node, names)
    for value in inner.output:
        value.name = names.get(value.name, value.name)


def _rename(nodes: Iterable[Any], names: Mapping[str, str]) -> None:
    for node in nodes:
        for listed in (node.input, node.output):
            listed[:] = [names.get(name, name) for name in listed]
        for inner in graphs_of(node):
            rename(inner, names)


def nodes_of(graph: Any) -> int:
    """Return how many nodes a graph and those in it have."""
    return len(graph.node) + sum(len(inner.node) for inner in inner_graphs(graph))


def is_of_standard(node: Any, *names: str) -> bool:
    """Tell whether a node is one of these operators of the standard."""
    return node.op_type in names and node.domain in ("", "ai.onnx")


def _made(graph: Any) -> Iterator[str]:
    """Yield the names of what a graph has of its own."""
    yield from (tensor.name for tensor in graph.initializer)
    yield from (name for node in graph.node for name in node.output if name)


def _read(graph: Any) -> Iterator[str]:
    """Yield the names that a graph reads, and those that graphs in it read of it."""
    for node in graph.node:
        yield from node.input
        for inner in graphs_of(node):
            yield from read_outside(inner)
    yield from (value.name for value in graph.output)
