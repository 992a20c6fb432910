"""Gemms and MatMuls of quantized matrices that ONNX Runtime computes with QGemm."""

from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Graph
from frontends.onnx.normalize.identities import is_clip_before_quantize
from frontends.onnx.read.constants import Array
from frontends.onnx.read.names import attributes_of, is_of_standard


def scale_gemm_data(graph: Graph, node: Any) -> bool:
    """Multiply the data's scale by the ``alpha`` of a Gemm without a bias, as QGemm does.

    ONNX Runtime computes a Gemm with a bias in float.
    """
    if not is_of_standard(node, "Gemm") or any(node.input[2:]):
        return False
    source = graph.maker(node.input[0], "DequantizeLinear")
    alpha = np.float32(attributes_of(node).get("alpha", 1.0))
    if alpha != 1 and source is not None and _is_of_bytes(*graph.encoding(source)):
        scale = np.asarray(alpha * graph.constants[source.input[1]], np.float32)
        operands = source.input[0], scale, source.input[2]
        node.input[0] = graph.add("DequantizeLinear", *operands)
        _without(node, "alpha")
    _without(node, "beta")
    return False


def _is_of_bytes(scale: Array | None, point: Array | None) -> bool:
    if scale is None or point is None or scale.size != 1:
        return False
    return point.dtype.itemsize == 1 and scale.dtype == np.float32


def _without(node: Any, name: str) -> None:
    """Remove an attribute."""
    for each in [each for each in node.attribute if each.name == name]:
        node.attribute.remove(each)


_DATA = {"int8": ("int8",), "uint8": ("int8", "uint8")}
"""By the dtype of data, the dtypes of weights."""


def float_product(graph: Graph, node: Any) -> bool:
    """Write a product as QGemm if nothing quantizes its result, as ONNX Runtime does."""
    if not is_of_standard(node, "Gemm", "MatMul"):
        return False
    later = {each.op_type for each in graph.readers.get(node.output[0], ())}
    if "QuantizeLinear" in later or (node.op_type == "MatMul" and "Add" in later):
        return False
    if is_clip_before_quantize(graph, node.output[0]):
        return False
    sources = [graph.maker(name, "DequantizeLinear") for name in node.input if name]
    if any(each is None or len(each.input) < 2 for each in sources):  # or of an unchecked domain
        return False
    attributes = attributes_of(node)
    if any(attributes.get(name, 1.0) != 1 for name in ("alpha", "beta")):
        return False
    turned = {name: int(attributes.get(name, 0)) for name in ("transA", "transB")}
    operands = _operands(graph, sources, 0 if turned["transB"] else 1)
    if operands is None:
        return False
    graph.add("QGemm", *operands, output=node.output[0], domain="com.microsoft", **turned)
    return True


def _operands(graph: Graph, sources: list[Any], units_axis: int) -> list[str] | None:
    """Return the operands of a QGemm; None if QGemm does not take them."""
    constants = graph.constants
    data, weights, *bias = sources
    scale, point = graph.encoding(data)
    steps, other = graph.encoding(weights)
    array = constants.get(weights.input[0])
    if scale is None or point is None or steps is None or other is None or array is None:
        return None
    if array.ndim != 2 or scale.size != 1:
        return None
    if array.dtype.name not in _DATA.get(point.dtype.name, ()):
        return None
    axis = int(attributes_of(weights).get("axis", 1)) % 2
    if steps.size != 1 and (axis != units_axis or steps.size != array.shape[units_axis]):
        return None
    operands = [*data.input, *weights.input]
    if bias:
        values = constants.get(bias[0].input[0])
        if values is None or values.dtype != np.int32:
            return None
        operands.append(bias[0].input[0])
    return operands
