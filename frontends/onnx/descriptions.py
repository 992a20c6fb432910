"""What the nodes of a model stand for, and the shapes of their tensors: to describe it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from frontends.bounds import number_of
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import infer
from frontends.onnx.normalize.grouping import find_known_types, write_standard_pairs
from frontends.onnx.read.names import attributes_of
from frontends.onnx.read.open_inputs import Shapes, sized_inputs
from qnn_ops.errors import QnnError

_STATES = 2
"""The place of the weights of hidden values."""

Dims = tuple[int, ...]
Count = Callable[[list[Dims], Dims, dict[str, Any]], int]
"""``count(inputs, output, attributes)``: the products of a node, of the shapes of its tensors."""


@dataclass(frozen=True)
class Description:
    """What is known of a model without importing it.

    Attributes:
        graph: with the types of its tensors, as far as they follow.
        missing: why nodes cannot be imported, by their numbers.
        macs: the products that nodes add up, by their numbers.
    """

    graph: Graph
    missing: dict[int, str]
    macs: dict[int, int]


def described(proto: Any, shapes: Shapes | None) -> Description:
    """Describe a model.

    Types and products are those of the standard's operators that the importer writes. Products are
    those of the least sizes.

    Args:
        proto: from ``read_proto``.
        shapes: of inputs by name, where they are not the file's.

    Raises:
        QnnError: ``shapes`` do not fit the model.
    """
    shapes, bounds = sized_inputs(proto.graph, shapes)
    if not bounds:
        return _described(proto, shapes)
    from qnn_ops.dialect.sizes import within

    with within(bounds):
        return _described(proto, shapes)


def _described(proto: Any, shapes: Shapes) -> Description:
    graph = Graph(proto, shapes)
    try:
        infer(graph)
    except QnnError:
        if shapes:
            raise
        graph = Graph(proto)  # it can be looked at without
    write_standard_pairs(graph)
    groups, missing, written = find_known_types(graph)
    return Description(graph, missing, _macs(groups, written))


def _macs(groups: Graph, written: Graph) -> dict[int, int]:
    """Count products of what nodes stand for, by the numbers of these."""
    found: dict[int, int] = {}
    for number, node in zip(groups.sources, groups.node, strict=True):
        names = [*node.input, node.output[0]]
        shapes = [written.known_shape(name) if name else () for name in names]
        known = [tuple(map(number_of, shape)) for shape in shapes if shape is not None]
        if (count := _COUNTS.get(node.op_type)) is None or len(known) < len(shapes):
            continue
        *inputs, output = known
        found[number] = found.get(number, 0) + count(inputs, output, attributes_of(node))
    return found


_COUNTS: dict[str, Count] = {
    **dict.fromkeys(
        ("MatMul", "MatMulInteger", "MatMulNBits", "QLinearMatMul"),
        lambda inputs, output, _: prod(output) * inputs[0][-1],
    ),
    **dict.fromkeys(
        ("Conv", "ConvInteger"), lambda inputs, output, _: prod(output) * prod(inputs[1][1:])
    ),
    **dict.fromkeys(  # weights of data and of hidden values, for every row of every step
        ("GRU", "LSTM", "RNN"),
        lambda inputs, *_: prod(inputs[0][:2]) * sum(map(prod, inputs[1 : _STATES + 1])),
    ),
    "ConvTranspose": lambda inputs, *_: prod(inputs[0]) * prod(inputs[1][1:]),
    "Gemm": lambda inputs, output, attributes: (
        prod(output) * inputs[0][0 if attributes.get("transA", 0) else 1]
    ),
    "QLinearConv": lambda inputs, output, _: prod(output) * prod(inputs[3][1:]),
}
