"""Gemm times a number, which becomes a part of its data's scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.onnx.package import onnx_package

Array = np.ndarray[Any, Any]

_OF_DATA = 3
"""The operands of a DequantizeLinear with a zero point."""


def with_scaled_data(
    nodes: list[Any], constants: Mapping[str, Array], attributes_of: Any, prefix: str
) -> tuple[list[Any], dict[str, Array]]:
    """Multiply scales of bytes by the ``alpha`` of a Gemm that has no bias, as QGemm does.

    With a bias ONNX Runtime computes it in float.

    Args:
        nodes: of a model; those of a Gemm are changed.
        constants: of it, by name.
        attributes_of: gives a node's attributes.
        prefix: of names that no tensor has.

    Returns:
        The nodes, and constants that are new.
    """
    made = {name: node for node in nodes for name in node.output}
    written: list[Any] = []
    added: dict[str, Array] = {}
    for node in nodes:
        if node.op_type == "Gemm" and node.domain in ("", "ai.onnx") and not any(node.input[2:]):
            source = made.get(node.input[0])
            alpha = np.float32(attributes_of(node).get("alpha", 1.0))
            if alpha != 1 and source is not None and _is_of_bytes(source, constants):
                scale, data = (f"{prefix}{node.output[0]}_{part}" for part in ("scale", "scaled"))
                added[scale] = np.asarray(alpha * constants[source.input[1]], np.float32)
                operands = [source.input[0], scale, source.input[2]]
                made_now = onnx_package().helper.make_node("DequantizeLinear", operands, [data])
                written.append(made_now)
                node.input[0] = data
                _without(node, "alpha")
            _without(node, "beta")
        written.append(node)
    return written, added


def _is_of_bytes(source: Any, constants: Mapping[str, Array]) -> bool:
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
