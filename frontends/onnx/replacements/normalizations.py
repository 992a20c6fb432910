"""ONNX Runtime's own normalizations and forms of Gelu, as standard nodes."""

from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.standard import INT32
from frontends.onnx.replacements.quantized import dequantized
from frontends.onnx.replacements.registry import operands_of, rule

_SLOPE = 1.702
"""The default slope of a QuickGelu."""
_EPSILON = np.float32(1e-12)
"""The default epsilon of a normalization with a sum before it."""
_SUM = 3
"""The index of the sum among the results of an operator with a residual."""


@rule("Gelu")
def _gelu(graph: Graph, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write a Gelu of either domain."""
    (data,) = inputs
    graph.add("Gelu", data, output=node.output[0], **attrs)


@rule("BiasGelu", "FastGelu")
def _biased_gelu(graph: Graph, node: Any, inputs: list[str], _attrs: dict[str, Any]) -> None:
    """Write a sum and its Gelu; a FastGelu uses a hyperbolic tangent, and may lack a bias."""
    is_fast = node.op_type == "FastGelu"
    data, bias = operands_of(inputs, 1 if is_fast else 2, 2)
    if bias:
        if bias in graph.constants and len(graph.shape(bias)) != 1:
            raise UnsupportedError("the bias must have one axis")
        data = graph.add("Add", data, bias)
    approximate = "tanh" if is_fast else "none"
    graph.add("Gelu", data, output=node.output[0], approximate=approximate)


@rule("QuickGelu")
def _quick_gelu(graph: Graph, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write the product of the data and the Sigmoid of a multiple of the data."""
    (data,) = inputs
    slope = float(attrs.get("alpha", _SLOPE))
    scaled = data if slope == 1 else graph.add("Mul", data, slope)
    graph.add("Mul", data, graph.add("Sigmoid", scaled), output=node.output[0])


@rule("SkipLayerNormalization")
def _after_sum(graph: Graph, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write a sum and its LayerNormalization."""
    data, skip, scale, offset, bias = operands_of(inputs, 3, 5)
    total = _residual(graph, node, [data, skip, bias])
    operands = [name for name in (total, scale, offset) if name]
    _normalized(graph, "LayerNormalization", operands, node, attrs, "welford")


@rule("SkipSimplifiedLayerNormalization")
def _simplified_after_sum(
    graph: Graph, node: Any, inputs: list[str], attrs: dict[str, Any]
) -> None:
    """Write a sum and its RMSNormalization."""
    data, skip, scale, bias = operands_of(inputs, 3, 4)
    total = _residual(graph, node, [data, skip, bias])
    _normalized(graph, "RMSNormalization", [total, scale], node, attrs, "squares")


@rule("SimplifiedLayerNormalization")
def _simplified(graph: Graph, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write an RMSNormalization."""
    data, scale = inputs
    _check_results(node, (0,))
    graph.add("RMSNormalization", data, scale, output=node.output[0], **attrs)


@rule("EmbedLayerNormalization", "QEmbedLayerNormalization")
def _embedded(graph: Graph, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write the sum of rows of tables, its LayerNormalization, and the count of unmasked tokens.

    Tables, scale and offset may be bytes.
    """
    counts = (18, 18) if node.op_type.startswith("Q") else (7, 9)
    operands = operands_of(inputs, *counts)
    ids, segments, words, positional, kinds, scale, offset, mask = operands[:8]
    encodings = [*zip(operands[8:13], operands[13:], strict=False)]
    positions = "" if encodings else operands[8]

    def real(data: str, index: int) -> str:
        return dequantized(graph, data, *encodings[index]) if encodings else data

    parts = [real(_rows(graph, words, ids, "words"), 0)]
    parts.append(real(_placed(graph, positional, positions, ids), 1))
    if segments:
        parts.append(real(_rows(graph, kinds, segments, "kinds"), 2))
    parameters = [real(scale, 3), real(offset, 4)]
    total = _sum(graph, parts, _result(node, 2))
    _normalized(graph, "LayerNormalization", [total, *parameters], node, attrs, "two_passes")
    _count(graph, node, mask, ids)


def _rows(graph: Graph, table: str, indices: str, name: str) -> str:
    return graph.add("Gather", table, indices, output=graph.part(name), axis=0)


def _check_results(node: Any, known: tuple[int, ...]) -> None:
    if any(name for index, name in enumerate(node.output) if index not in known):
        raise UnsupportedError("mean and deviation as results are not imported")


def _result(node: Any, index: int) -> str:
    """Return the name of a result; empty if the node lacks it."""
    return str(node.output[index]) if index < len(node.output) else ""


def _residual(graph: Graph, node: Any, operands: list[str]) -> str:
    _check_results(node, (0, _SUM))
    return _sum(graph, [name for name in operands if name], _result(node, _SUM))


def _sum(graph: Graph, operands: list[str], output: str) -> str:
    """Add up two or more operands from left to right; ``output`` names the result if not empty."""
    *others, last = operands
    total = others[0]
    for each in others[1:]:
        total = graph.add("Add", total, each)
    return graph.add("Add", total, last, output=output)


def _normalized(
    graph: Graph, op: str, operands: list[str], node: Any, attrs: dict[str, Any], order: str
) -> None:
    epsilon = float(attrs.get("epsilon", _EPSILON))
    graph.add(op, *operands, output=node.output[0], axis=-1, epsilon=epsilon, order=order)


def _placed(graph: Graph, table: str, positions: str, ids: str) -> str:
    """Return the rows of a table at stated positions, or the first rows, one for each token."""
    if positions:
        return _rows(graph, table, positions, "rows")
    tokens = graph.add("Slice", graph.add("Shape", ids), [1], [2], [0])
    return graph.add("Slice", table, [0], tokens, [0])


def _count(graph: Graph, node: Any, mask: str, ids: str) -> None:
    """Write how many tokens of each sentence have the mask 1; without a mask the count is 0."""
    output = _result(node, 1)
    if not output:
        return
    one = np.array(1, np.int32)
    is_seen = graph.add("Equal", mask, one) if mask else graph.add("Less", ids, ids)
    seen = graph.add("Cast", is_seen, to=INT32)
    graph.along("ReduceSum", seen, [1], output, keepdims=0)
    graph.ranks = {**graph.ranks, output: 1}
