"""Descriptions of models: the operators that nodes stand for, and the shapes of their tensors."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from frontends.bounds import number_of
from frontends.onnx.graph.graph import Graph
from frontends.onnx.graph.shapes import infer
from frontends.onnx.normalize.grouping import find_known_types, write_standard_pairs
from frontends.onnx.read.names import attributes_of
from frontends.onnx.read.open_inputs import Shapes
from qnn_ops.errors import QnnError

_STATES = 2
"""The index of the operand with the weights of hidden values."""

Dims = tuple[int, ...]
Count = Callable[[list[Dims], Dims, dict[str, Any]], int]
"""``count(inputs, output, attributes)``: a node's number of products, from its tensors' shapes."""


@dataclass(frozen=True)
class Description:
    """Facts about a model that do not need an import.

    Attributes:
        graph: with the types of its tensors, as far as they are known.
        missing: reasons why nodes cannot be imported, by the nodes' indices.
        macs: the number of products that a node adds up, by the node's index.
    """

    graph: Graph
    missing: dict[int, str]
    macs: dict[int, int]


def described(proto: Any, shapes: Shapes | None) -> Description:
    """Describe a model.

    Types and products are those of the standard operators that the importer writes. Products are
    counted for the smallest sizes.

    Args:
        proto: from ``read_proto``.
        shapes: of inputs by name, in place of the file's.

    Raises:
        QnnError: ``shapes`` do not fit the model.
    """
    graph = Graph(proto, shapes)
    if not graph.bounds:
        return _described(graph, proto)
    from qnn_ops.dialect.sizes import within

    with within(graph.bounds):
        return _described(graph, proto)


def _described(graph: Graph, proto: Any) -> Description:
    try:
        infer(graph)
    except QnnError:
        if graph.given:
            raise
        graph = Graph(proto)  # the description works without shapes
    write_standard_pairs(graph)
    groups, missing, written = find_known_types(graph)
    return Description(graph, missing, _macs(groups, written))


def _macs(groups: Graph, written: Graph) -> dict[int, int]:
    """Count the products of the operators that nodes stand for, by the nodes' indices."""
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
