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


def _of_matmul(inputs: list[Dims], output: Dims, _attributes: dict[str, Any]) -> int:
    return prod(output) * inputs[0][-1]


def _of_gemm(inputs: list[Dims], output: Dims, attributes: dict[str, Any]) -> int:
    return prod(output) * inputs[0][0 if attributes.get("transA", 0) else 1]


def _of_conv(inputs: list[Dims], output: Dims, _attributes: dict[str, Any]) -> int:
    return prod(output) * prod(inputs[1][1:])


def _of_quantized_conv(inputs: list[Dims], output: Dims, attributes: dict[str, Any]) -> int:
    return _of_conv([inputs[0], inputs[3]], output, attributes)


def _of_conv_transpose(inputs: list[Dims], _output: Dims, _attributes: dict[str, Any]) -> int:
    return prod(inputs[0]) * prod(inputs[1][1:])


def _over_time(inputs: list[Dims], _output: Dims, _attributes: dict[str, Any]) -> int:
    """Count the weights of data and of hidden values, each for every row of every step."""
    return prod(inputs[0][:2]) * sum(map(prod, inputs[1 : _STATES + 1]))


_COUNTS: dict[str, Count] = {
    **dict.fromkeys(("MatMul", "MatMulInteger", "MatMulNBits", "QLinearMatMul"), _of_matmul),
    **dict.fromkeys(("Conv", "ConvInteger"), _of_conv),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _over_time),
    "ConvTranspose": _of_conv_transpose,
    "Gemm": _of_gemm,
    "QLinearConv": _of_quantized_conv,
}
