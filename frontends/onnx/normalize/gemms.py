"""Gemms and MatMuls of quantized matrices that ONNX Runtime computes as its QGemm."""

from __future__ import annotations

from typing import Any

import numpy as np

from frontends.onnx.graph.graph import Constants, Graph
from frontends.onnx.normalize.identities import is_clip_before_quantize
from frontends.onnx.read.names import attributes_of

_OF_DATA = 3
"""The operands of a DequantizeLinear with a zero point."""


def scale_gemm_data(graph: Graph) -> None:
    """Multiply scales of bytes by the ``alpha`` of a Gemm that has no bias, as QGemm does.

    With a bias ONNX Runtime computes it in float.
    """
    made = graph.makers()
    for node in graph.rewritten():
        if node.op_type == "Gemm" and node.domain in ("", "ai.onnx") and not any(node.input[2:]):
            source = made.get(node.input[0])
            alpha = np.float32(attributes_of(node).get("alpha", 1.0))
            if alpha != 1 and source is not None and _is_of_bytes(source, graph.constants):
                scale = np.asarray(alpha * graph.constants[source.input[1]], np.float32)
                operands = source.input[0], scale, source.input[2]
                node.input[0] = graph.add("DequantizeLinear", *operands)
                _without(node, "alpha")
            _without(node, "beta")
        graph.node.append(node)


def _is_of_bytes(source: Any, constants: Constants) -> bool:
    if source.op_type != "DequantizeLinear" or len(source.input) != _OF_DATA:
        return False
    scale, point = (constants.get(name) for name in source.input[1:])
    if scale is None or point is None or scale.size != 1:
        return False
    return point.dtype.itemsize == 1 and scale.dtype == np.float32


def _without(node: Any, name: str) -> None:
    """Leave out an attribute."""
    kept = [each for each in node.attribute if each.name != name]
    copies = [type(each).FromString(each.SerializeToString()) for each in kept]
    del node.attribute[:]
    node.attribute.extend(copies)


_DATA = {"int8": ("int8",), "uint8": ("int8", "uint8")}
"""The dtypes of weights beside those of data."""

_CONSTANTS = 4
"""Scale and zero point of data, and those of weights."""


def write_float_products(graph: Graph) -> None:
    """Write products that nothing quantizes as QGemm, as ONNX Runtime does."""
    made, readers, kept = graph.makers(), graph.readers(), {*graph.kept}

    def operands_of(node: Any) -> list[str] | None:
        if node.op_type not in ("Gemm", "MatMul") or node.domain not in ("", "ai.onnx"):
            return None
        later = {each.op_type for each in readers.get(node.output[0], ())}
        if "QuantizeLinear" in later or (node.op_type == "MatMul" and "Add" in later):
            return None
        if is_clip_before_quantize(node.output[0], readers, kept):
            return None
        sources: list[Any] = [made.get(name) for name in node.input if name]
        if any(each is None or each.op_type != "DequantizeLinear" for each in sources):
            return None
        if any(len(each.input) < 2 for each in sources):  # of a domain that is not checked
            return None
        attributes = attributes_of(node)
        if any(attributes.get(name, 1.0) != 1 for name in ("alpha", "beta")):
            return None
        return _operands(sources, 0 if attributes.get("transB", 0) else 1, graph.constants)

    for node in graph.rewritten():
        operands = operands_of(node)
        if operands is None:
            graph.node.append(node)
            continue
        attributes = attributes_of(node)
        turned = {name: int(attributes.get(name, 0)) for name in ("transA", "transB")}
        output = node.output[0]
        graph.add("QGemm", *operands, output=output, domain="com.microsoft", **turned)


def _operands(sources: list[Any], units_axis: int, constants: Constants) -> list[str] | None:
    """Return what QGemm reads, or None where it does not read it so."""
    data, weights, *bias = sources
    named = [constants.get(name) for each in (data, weights) for name in each.input[1:]]
    known = [each for each in named if each is not None]
    array = constants.get(weights.input[0])
    if len(known) != len(named) or len(known) != _CONSTANTS or array is None:
        return None
    scale, point, steps, _ = known
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
