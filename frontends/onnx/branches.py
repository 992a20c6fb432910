"""If nodes whose condition is known when a model is imported, as exporters write for squeezes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frontends.errors import ModelFormatError
from frontends.onnx.constants import constants_of, move_constants
from frontends.onnx.folding import with_folded_shapes
from frontends.onnx.names import free_prefix
from frontends.onnx.package import onnx_package
from frontends.onnx.reader import Shapes, with_shapes

_ROUNDS = 32
"""The shapes that a branch gives may decide on the next one."""


def with_taken_branches(proto: Any, shapes: Shapes | None) -> Any:
    """Return the model with branches in place of If nodes, where it is known which one is taken.

    ONNX Runtime does so, too, before it looks for groups.

    Args:
        proto: from ``read_proto``.
        shapes: of inputs by name, where they are not the file's.

    Raises:
        ModelFormatError: a branch is malformed, or shapes do not fit.
        QnnError: a shape is not known.
    """
    for _ in range(_ROUNDS):
        if not any(map(_is_if, proto.graph.node)):
            break
        constants = constants_of(with_folded_shapes(with_shapes(proto, shapes)))
        known = {node.input[0] for node in proto.graph.node if _is_if(node)} & constants.keys()
        if not known:
            break
        proto = _inlined(proto, {name: bool(constants[name].all()) for name in known})
    return proto


def _is_if(node: Any) -> bool:
    return node.op_type == "If" and node.domain in ("", "ai.onnx")


def _inlined(proto: Any, conditions: Mapping[str, bool]) -> Any:
    onnx = onnx_package()
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    graph, prefix = result.graph, free_prefix(proto.graph)
    del graph.node[:]
    for number, node in enumerate(proto.graph.node):
        if not _is_if(node) or node.input[0] not in conditions:
            graph.node.add().CopyFrom(node)
            continue
        branch = onnx.GraphProto()
        branch.CopyFrom(_branch(node, conditions[node.input[0]]))
        move_constants(branch)
        names = {name: f"{prefix}{number}_{name}" for name in _made(branch)}
        made = {name for inner in branch.node for name in inner.output}
        ends = []
        for value, output in zip(branch.output, node.output, strict=True):
            if value.name in made:
                names[value.name] = output
                made.remove(value.name)
            else:  # of the graph around it, a constant, or given twice
                ends.append((value.name, output))
        _rename(branch.node, names)
        for tensor in branch.initializer:
            tensor.name = names[tensor.name]
        graph.initializer.extend(branch.initializer)
        graph.node.extend(branch.node)
        for name, output in ends:
            graph.node.append(onnx.helper.make_node("Identity", [names.get(name, name)], [output]))
    return result


def _branch(node: Any, condition: bool) -> Any:
    name = "then_branch" if condition else "else_branch"
    for attribute in node.attribute:
        if attribute.name == name and len(attribute.g.output) == len(node.output):
            return attribute.g
    raise ModelFormatError(f"If that gives {node.output[0]!r} has no {name} of its outputs")


def _made(graph: Any) -> Iterator[str]:
    """Yield the names of what a graph has of its own."""
    yield from (tensor.name for tensor in graph.initializer)
    yield from (name for node in graph.node for name in node.output if name)


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
