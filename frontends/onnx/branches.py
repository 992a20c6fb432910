"""If nodes: the branch that is taken, where it is known, and else both and a choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.onnx.names import free_prefix
from frontends.onnx.package import onnx_package
from frontends.onnx.reader import Shapes, with_shapes
from frontends.onnx.subgraphs import FLOAT, inline, is_of_standard, keep_apart, types_of
from frontends.onnx.tensors import shapes_of

_LATER = "tvm_qnn.later"
"""The domain of an If whose branches are looked at when it is known which is taken."""

_OF_PLACES = ("Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND")
_BRANCHES = {True: "then_branch", False: "else_branch"}


def with_closed_branches(proto: Any) -> Any:
    """Return a copy whose branches shape inference passes over: one not taken need not fit."""
    result = onnx_package().ModelProto()
    result.CopyFrom(proto)
    result.opset_import.append(onnx_package().helper.make_opsetid(_LATER, 1))
    for node in filter(is_if, result.graph.node):
        node.domain = _LATER
        del node.attribute[:]
    return result


def with_taken_branches(proto: Any, constants: Mapping[str, Any]) -> Any:
    """Return the model with branches in place of If nodes whose conditions are constants.

    ONNX Runtime does so, too, before it looks for groups.

    Args:
        proto: the model.
        constants: of it, and what follows from shapes.

    Returns:
        Another model; None if no branch is known.

    Raises:
        ModelFormatError: a branch is malformed.
    """
    if not any(is_if(node) and node.input[0] in constants for node in proto.graph.node):
        return None
    result = onnx_package().ModelProto()
    result.CopyFrom(proto)
    graph, prefix = result.graph, free_prefix(proto.graph)
    del graph.node[:]
    for number, node in enumerate(proto.graph.node):
        if not is_if(node) or node.input[0] not in constants:
            graph.node.add().CopyFrom(node)
            continue
        branch = _branch(node, bool(constants[node.input[0]].all()))
        results = {place: name for place, name in enumerate(node.output) if name}
        inline(graph, branch, f"{prefix}{number}_", {}, results)
    return result


def with_choices(proto: Any, shapes: Shapes | None) -> Any:
    """Return the model with both branches, and a choice, in place of If nodes.

    Args:
        proto: the model, whose conditions are none of them constants.
        shapes: of inputs by name, where they are not the file's.

    Returns:
        Another model; None if it has no If.

    Raises:
        ModelFormatError: a branch is malformed.
        UnsupportedOperatorError: two branches give tensors of other shapes.
        QnnError: a shape is not known.
    """
    if not any(map(is_if, proto.graph.node)):
        return None
    beside = _with_both(proto, shapes)
    prefix = free_prefix(proto.graph)
    known = shapes_of(with_shapes(beside, shapes).graph)
    result = onnx_package().ModelProto()
    result.CopyFrom(beside)
    graph, make = result.graph, onnx_package().helper.make_node
    scalar = onnx_package().numpy_helper.from_array(np.array([], np.int64), f"{prefix}scalar")
    graph.initializer.append(scalar)
    del graph.node[:]
    outer = {node.output[0] for node in proto.graph.node}  # one inside a branch has its turn later
    for number, node in enumerate(beside.graph.node):
        if not is_if(node) or node.output[0] not in outer:
            graph.node.add().CopyFrom(node)
            continue
        stem = f"{prefix}{node.output[0]}"
        graph.node.append(make("Reshape", [node.input[0], f"{prefix}scalar"], [stem]))
        for place, output in enumerate(node.output):
            if not output:
                continue
            names = [_result_name(prefix, node, which, place) for which in _BRANCHES]
            found = [known.get(name) for name in names]
            if found[0] is None or found[0] != found[1]:
                reason = f"the data choose between results of shapes {found[0]} and {found[1]}"
                reason += "; values of inputs at import may choose"
                raise UnsupportedOperatorError([(number, "If", reason, list(node.output))])
            if _branch(node, True).output[place].type.tensor_type.elem_type == FLOAT:
                names = [_cast(graph, name) for name in names]
            graph.node.append(make("Where", [stem, *names], [output]))
    return result


def _with_both(proto: Any, shapes: Shapes | None) -> Any:
    """Return the model with what is in branches before its If nodes."""
    result = onnx_package().ModelProto()
    result.CopyFrom(proto)
    graph, prefix = result.graph, free_prefix(proto.graph)
    given = types_of(with_shapes(proto, shapes).graph)
    del graph.node[:]
    for node in proto.graph.node:
        for which in _BRANCHES if is_if(node) else ():
            stem = f"{prefix}{node.output[0]}_{which}_"
            branch = keep_apart(graph, _branch(node, which), given, f"{stem}outer_")
            names = [_result_name(prefix, node, which, i) for i in range(len(node.output))]
            for each in branch.node:
                if each.op_type in _OF_PLACES:  # The branch may not be taken.
                    each.attribute.append(onnx_package().helper.make_attribute("nearest", 1))
            inline(graph, branch, stem, {}, dict(enumerate(names)))
        graph.node.add().CopyFrom(node)
    return result


def _result_name(prefix: str, node: Any, which: bool, place: int) -> str:
    return f"{prefix}{node.output[0]}_{which}_result_{place}"


def _cast(graph: Any, name: str) -> str:
    output = f"{name}_cast"
    graph.node.append(onnx_package().helper.make_node("Cast", [name], [output], to=FLOAT))
    return output


def is_if(node: Any) -> bool:
    """Tell whether a node is an If."""
    return is_of_standard(node, "If")


def _branch(node: Any, condition: bool) -> Any:
    name = _BRANCHES[condition]
    for attribute in node.attribute:
        if attribute.name == name and len(attribute.g.output) == len(node.output):
            return attribute.g
    raise ModelFormatError(f"If that gives {node.output[0]!r} has no {name} of its outputs")
