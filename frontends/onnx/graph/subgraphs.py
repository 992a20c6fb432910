"""Inner graphs: written into the outer graph, renamed or copied."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from frontends.onnx.graph.graph import Graph, makers
from frontends.onnx.read.constants import move_constants
from frontends.onnx.read.names import (
    attributes_of,
    copied,
    graphs_of,
    is_of_standard,
    made_inside,
    read_outside,
    state,
)
from frontends.onnx.read.standard import FLOAT


def inline(
    graph: Graph, inner: Any, prefix: str, operands: Mapping[str, str], results: Mapping[int, str]
) -> None:
    """Add the nodes and the constants of an inner graph.

    Args:
        graph: the outer graph.
        inner: the inner graph; it is not changed.
        prefix: a prefix of the names of its nodes' results.
        operands: names in the outer graph, by the names of the inner graph's inputs.
        results: the new names of its outputs, by index; other outputs are left out.
    """
    copy = copied(inner)
    move_constants(copy)
    names = {name: f"{prefix}{name}" for name in made_inside(copy)} | dict(operands)
    made = {name for node in copy.node for name in node.output}
    ends = []
    for index, value in enumerate(copy.output):
        if index not in results:
            continue
        if value.name in made:
            names[value.name] = results[index]
            made.remove(value.name)
        else:  # a tensor of the outer graph, a constant, an input, or one that is an output twice
            ends.append((value.name, results[index]))
    _rename(copy.node, names)
    graph.constants.update((names[tensor.name], tensor) for tensor in copy.initializer)
    graph.node.extend(copy.node)
    for name, output in ends:
        graph.add("Identity", names.get(name, name), output=output)


def prepared(graph: Graph, inner: Any, typed: Graph, prefix: str) -> Any:
    """Return a copy of an inner graph that can be written several times.

    Its constants move to the outer graph. It reads other tensors of the outer graph through a Cast,
    which changes nothing: ONNX Runtime makes no group from nodes of two graphs.

    Args:
        graph: the outer graph, which gets the constants and the Casts.
        inner: the inner graph.
        typed: the outer graph with the types of its nodes' results.
        prefix: a prefix of names that no tensor has.
    """
    copy, made, outside = copied(inner), makers(typed.node), read_outside(inner)
    state_plain(copy.node, {*outside, *(value.name for value in copy.input)})
    names = {
        name: graph.apart(name, f"{prefix}outer_{name}")
        for name in outside
        if name in made and typed.kinds.get(name) == FLOAT
    }
    names |= {tensor.name: f"{prefix}{tensor.name}" for tensor in copy.initializer}
    graph.constants.update((names[tensor.name], copied(tensor)) for tensor in copy.initializer)
    del copy.initializer[:]
    rename(copy, names)
    return copy


def state_plain(nodes: Iterable[Any], others: Collection[str]) -> None:
    """Give convolutions the attribute ``order``, "plain", if they read weights of other graphs.

    ONNX Runtime does not compute them in blocks of channels, even if the weights are constants.

    Args:
        nodes: of a graph.
        others: names of its inputs, which may have default values, and of tensors of outer graphs.
    """
    for node in nodes:
        is_met = is_of_standard(node, "Conv") and any(name in others for name in node.input[1:])
        if is_met and "order" not in attributes_of(node):
            state(node, "order", "plain")


def rename(inner: Any, names: Mapping[str, str]) -> None:
    """Rename tensors of an inner graph; graphs within it also see the names around them."""
    _rename(inner.node, names)
    for value in inner.output:
        value.name = names.get(value.name, value.name)


def _rename(nodes: Iterable[Any], names: Mapping[str, str]) -> None:
    for node in nodes:
        for listed in (node.input, node.output):
            listed[:] = [names.get(name, name) for name in listed]
        for inner in graphs_of(node):
            rename(inner, names)
