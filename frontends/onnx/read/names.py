"""Names, attributes and inner graphs of nodes; the package onnx, which need not be installed."""

import operator
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from frontends.errors import ModelFormatError, UnsupportedError, UnsupportedOperatorError
from frontends.onnx.read.standard import DOMAINS
from qnn_ops.errors import needed

CUSTOM: dict[tuple[str, str], str] = {}
"""Internal names of operators with users' rules, by domain and operator; see ``onnx.custom``."""


def name_custom_operators(graph: Any) -> None:
    """Give custom operators with rules their internal names, in the standard's domain."""
    for each in (graph, *inner_graphs(graph)):
        for node in each.node:
            if code := CUSTOM.get((node.domain, node.op_type)):
                node.op_type, node.domain = code, ""


def attributes_of(node: Any) -> dict[str, Any]:
    """Return a node's attributes by name.

    Raises:
        ModelFormatError: an attribute refers to one of a calling function.
    """
    helper = onnx_package().helper
    for each in node.attribute:
        if each.ref_attr_name:
            raise ModelFormatError(f"{node.op_type}: {each.name} is an attribute of no function")
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def state(node: Any, name: str, value: Any) -> None:
    """Give a node an attribute."""
    node.attribute.append(onnx_package().helper.make_attribute(name, value))


def graph_of(node: Any, name: str) -> Any:
    """Return the inner graph that an attribute holds; None if there is none."""
    return next((each.g for each in node.attribute if each.name == name), None)


def whole(value: Any, name: str) -> int:
    """Return an attribute's whole number; 0.5 is none.

    Raises:
        UnsupportedError: the value is no whole number.
    """
    try:
        return operator.index(value)
    except TypeError:
        text = f"attribute {name!r} must be a whole number, got {value!r:.40}"
        raise UnsupportedError(text) from None


def dims_of(value: Any) -> list[int | str]:
    """Return the sizes of a tensor: numbers, and names of open sizes, which may be empty."""
    dims = value.type.tensor_type.shape.dim
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in dims]


def numbers_of(value: Any) -> list[int | None]:
    """Return the sizes of a tensor; None for open sizes."""
    return [size if isinstance(size, int) else None for size in dims_of(value)]


def graphs_of(node: Any) -> Iterator[Any]:
    """Yield the inner graphs of a node."""
    for each in node.attribute:
        yield from [each.g] if each.HasField("g") else []
        yield from each.graphs


def inner_graphs(graph: Any) -> Iterator[Any]:
    """Yield the inner graphs of a graph's nodes, recursively."""
    for node in graph.node:
        for inner in graphs_of(node):
            yield inner
            yield from inner_graphs(inner)


def all_nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph and of its inner graphs."""
    for each in (graph, *inner_graphs(graph)):
        yield from each.node


def refuse(nodes: Any, reasons: Mapping[int, str]) -> None:
    """Raise if there is a reason why a node cannot be imported.

    Args:
        nodes: the nodes of a graph.
        reasons: by the node's index; an empty text is no reason.

    Raises:
        UnsupportedOperatorError: there are reasons; the error names the nodes.
    """
    found = [
        (number, nodes[number].op_type, reason, list(nodes[number].output))
        for number, reason in reasons.items()
        if reason
    ]
    if found:
        raise UnsupportedOperatorError(found)


PREFIX = "tvm_qnn_"
"""The beginning of the names of tensors that an import makes; underscores may follow."""


@contextmanager
def told_by_file(graph: Any) -> Iterator[None]:
    """Make errors name the operators and tensors of a graph, and not their replacements."""
    try:
        yield
    except UnsupportedOperatorError as error:
        made = {name: number for number, node in enumerate(graph.node) for name in node.output}
        told = []
        for index, code, reason, names in error.operators:
            own = [_own(name, made) for name in names]
            number = next((made[name] for name in own if name in made), index)
            text = f"{number} {reason} {own}"
            told.append((text, (number, code, reason, own)))
        raise UnsupportedOperatorError([*dict(told).values()]) from None


def _own(name: str, names: Any) -> str:
    """Return the file's name of a tensor, from the name of a tensor that was made for it."""
    if name in names or not name.startswith(PREFIX):
        return name
    rest = re.sub(rf"^{PREFIX}_*(\d+_)?", "", name)
    return max((each for each in names if each and rest.startswith(each)), key=len, default=rest)


def is_of_standard(node: Any, *names: str) -> bool:
    """Tell whether a node is one of some standard operators."""
    return node.op_type in names and node.domain in DOMAINS


def read_outside(inner: Any) -> list[str]:
    """Return the names that an inner graph reads from its outer graph."""
    own = {value.name for value in inner.input} | set(made_inside(inner))
    return [name for name in dict.fromkeys(read_inside(inner)) if name and name not in own]


def made_inside(graph: Any) -> Iterator[str]:
    """Yield the names of a graph's own tensors."""
    yield from (tensor.name for tensor in graph.initializer)
    yield from (name for node in graph.node for name in node.output if name)


def read_inside(graph: Any) -> Iterator[str]:
    """Yield the names that a graph and its inner graphs read."""
    for node in graph.node:
        yield from read_by(node)
    yield from (value.name for value in graph.output)


def read_by(node: Any) -> Iterator[str]:
    """Yield the names that a node and its inner graphs read."""
    yield from node.input
    for inner in graphs_of(node):
        yield from read_outside(inner)


def opset_of(proto: Any) -> int:
    """Return the version of the standard's operators, 0 if it is not stated."""
    versions = (each.version for each in proto.opset_import if each.domain in DOMAINS)
    return next(versions, 0)


def line_of(error: Exception) -> str:
    """Return an error's message as one short line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def onnx_package() -> Any:
    """Return the package.

    Raises:
        QnnError: if it cannot be imported.
    """
    with needed("reading ONNX models", "onnx", "'tvm-qnn[onnx]'"):
        import onnx
        import onnx.checker
        import onnx.defs
        import onnx.external_data_helper
        import onnx.inliner
        import onnx.shape_inference
    return onnx


def copied(message: Any) -> Any:
    """Return a copy of a message of protobuf."""
    copy = type(message)()
    copy.CopyFrom(message)
    return copy
