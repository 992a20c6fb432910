"""Products of dequantized matrices that nothing quantizes: integers with a float32 result."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np

from frontends.onnx.clips import is_clip_before_quantize
from frontends.onnx.package import onnx_package

Array = np.ndarray[Any, Any]

_DATA = {"int8": ("int8",), "uint8": ("int8", "uint8")}
"""The dtypes of weights beside those of data."""

_CONSTANTS = 4
"""Scale and zero point of data, and those of weights."""


def with_float_products(
    nodes: list[Any], constants: Mapping[str, Array], attributes_of: Any, kept: Container[str]
) -> list[Any]:
    """Write such Gemm and MatMul as QGemm, which they are to ONNX Runtime.

    Args:
        nodes: of a model.
        constants: of it, by name.
        attributes_of: gives a node's attributes.
        kept: the model's outputs.
    """
    made = {name: node for node in nodes for name in node.output}
    readers: dict[str, list[Any]] = {}
    for node in nodes:
        for name in node.input:
            readers.setdefault(name, []).append(node)

    def product(node: Any) -> Any:
        if node.op_type not in ("Gemm", "MatMul") or node.domain not in ("", "ai.onnx"):
            return node
        later = {each.op_type for each in readers.get(node.output[0], ())}
        if "QuantizeLinear" in later or (node.op_type == "MatMul" and "Add" in later):
            return node
        if is_clip_before_quantize(node.output[0], readers, kept):
            return node
        sources: list[Any] = [made.get(name) for name in node.input if name]
        if any(each is None or each.op_type != "DequantizeLinear" for each in sources):
            return node
        if any(len(each.input) < 2 for each in sources):  # of a domain that is not checked
            return node
        attributes = attributes_of(node)
        if any(attributes.get(name, 1.0) != 1 for name in ("alpha", "beta")):
            return node
        units_axis = 0 if attributes.get("transB", 0) else 1
        operands = _operands(sources, units_axis, constants, attributes_of)
        if operands is None:
            return node
        return onnx_package().helper.make_node(
            "QGemm",
            operands,
            [node.output[0]],
            domain="com.microsoft",
            transA=int(attributes.get("transA", 0)),
            transB=int(attributes.get("transB", 0)),
        )

    return [product(node) for node in nodes]


def _operands(
    sources: list[Any], units_axis: int, constants: Mapping[str, Array], attributes_of: Any
) -> list[str] | None:
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
