"""Models without inner graphs: branches and turns are written into the graph around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.errors import ModelFormatError, UnsupportedOperatorError
from frontends.onnx.constants import constants_of
from frontends.onnx.folding import with_folded_shapes
from frontends.onnx.names import free_prefix
from frontends.onnx.package import onnx_package
from frontends.onnx.reader import Shapes, opset_of, with_shapes
from frontends.onnx.subgraphs import (
    FLOAT,
    inline,
    is_of_standard,
    keep_apart,
    read_outside,
    rename,
    types_of,
)
from frontends.onnx.tensors import shapes_of
from frontends.onnx.turns import with_turns

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


_BEFORE_CARRIED = 2
"""The operands before those that are carried on."""


def with_closed_loops(proto: Any, shapes: Shapes | None) -> Any:
    """Return the model with Loops whose bodies read no tensor of the graph around them.

    A constant becomes one of the body; what else it reads is carried on from turn to turn.

    Args:
        proto: from ``without_subgraphs``.
        shapes: of inputs by name, where they are not the file's.

    Raises:
        ModelFormatError: a body is malformed.
        QnnError: a shape is not known.
    """
    if not any(is_of_standard(node, "Loop") for node in proto.graph.node):
        return proto
    graph = with_shapes(proto, shapes).graph
    types = {
        value.name: value.type.tensor_type.elem_type
        for value in (*graph.input, *graph.value_info, *graph.output)
    }
    result = onnx_package().ModelProto()
    result.CopyFrom(proto)
    constants = {tensor.name: tensor for tensor in result.graph.initializer}
    for node in result.graph.node:
        if is_of_standard(node, "Loop"):
            _close(node, types, constants, free_prefix(result.graph))
            # The body's operators are of this version, too.
            opset = onnx_package().helper.make_attribute("opset", opset_of(proto))
            node.attribute.append(opset)
    return result


def _close(node: Any, types: dict[str, int], constants: dict[str, Any], prefix: str) -> None:
    bodies = [each.g for each in node.attribute if each.name == "body"]
    if not bodies or len(node.input) < _BEFORE_CARRIED:
        raise ModelFormatError(f"the Loop of {list(node.output)} has no body, or no operands")
    helper, (body,) = onnx_package().helper, bodies
    carried = len(node.input) - _BEFORE_CARRIED
    if len(body.input) != len(node.input) or len(body.output) <= carried:
        raise ModelFormatError(f"the Loop of {list(node.output)} has a body of other operands")
    if len(body.output) > carried + 1:
        return  # it is refused
    node.output.extend([""] * (carried - len(node.output)))
    stem = f"{prefix}{next(filter(None, node.output), '')}_"
    for name in read_outside(body):
        inner = f"{stem}in_{name}"
        rename(body, {name: inner})
        if name in constants:
            body.initializer.add().CopyFrom(constants[name])
            body.initializer[-1].name = inner
            continue
        value = helper.make_tensor_value_info(inner, types.get(name, 0), None)
        body.input.append(value)
        body.node.append(helper.make_node("Identity", [inner], [f"{inner}_kept"]))
        value.name = f"{inner}_kept"
        body.output.append(value)
        node.input.append(name)
        node.output.append(f"{stem}out_{name}")


CONTROL = ("If", "Loop", "Scan")

_ROUNDS = 32
"""The shapes that a branch gives may decide on the next one."""


def without_subgraphs(proto: Any, shapes: Shapes | None) -> Any:
    """Return the model without If, and without Loop and Scan whose turns are known.

    Args:
        proto: from ``read_proto``.
        shapes: of inputs by name, where they are not the file's.

    Raises:
        ModelFormatError: a branch or body is malformed, or shapes do not fit.
        UnsupportedOperatorError: the data choose between tensors of other shapes.
        QnnError: a shape is not known.
    """
    for _ in range(_ROUNDS):
        if not any(is_of_standard(node, *CONTROL) for node in proto.graph.node):
            break
        if any(map(is_if, proto.graph.node)):
            known = with_folded_shapes(with_shapes(with_closed_branches(proto), shapes))
            if (found := with_taken_branches(proto, constants_of(known))) is not None:
                proto = found
                continue
        inferred = with_shapes(proto, shapes)
        constants = constants_of(with_folded_shapes(inferred))
        found = with_turns(proto, inferred, constants) or with_choices(proto, shapes)
        if found is None:
            break
        proto = found
    return proto
