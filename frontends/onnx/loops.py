"""Loops whose end the data tell: their bodies read nothing but what they are given."""

from __future__ import annotations

from typing import Any

from frontends.errors import ModelFormatError
from frontends.onnx.names import free_prefix
from frontends.onnx.package import onnx_package
from frontends.onnx.reader import Shapes, opset_of, with_shapes
from frontends.onnx.subgraphs import is_of_standard, read_outside, rename

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
            # Of the body's operators, too.
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
