"""ONNX Runtime's own forms of Gelu, as nodes of the standard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from frontends.errors import UnsupportedError

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

_SLOPE = 1.702
"""Of a QuickGelu that states none."""


def gelu(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write a Gelu of either domain."""
    (data,) = inputs
    groups.node("Gelu", [data], node.output[0], **attrs)


def bias_gelu(groups: Groups, node: Any, inputs: list[str], _attrs: dict[str, Any]) -> None:
    """Write a sum and its Gelu."""
    data, bias = inputs
    _biased(groups, node, data, bias, approximate="none")


def fast_gelu(groups: Groups, node: Any, inputs: list[str], _attrs: dict[str, Any]) -> None:
    """Write a Gelu of a hyperbolic tangent, of data or of data and a bias."""
    data, bias = [*inputs, ""][:2]
    _biased(groups, node, data, bias, approximate="tanh")


def quick_gelu(groups: Groups, node: Any, inputs: list[str], attrs: dict[str, Any]) -> None:
    """Write the product of data and the Sigmoid of a multiple of them."""
    (data,) = inputs
    slope = float(attrs.get("alpha", _SLOPE))
    name, scaled = f"{groups.prefix}{node.output[0]}", data
    if slope != 1:
        constant = groups.constant(np.asarray(slope, np.float32))
        scaled = groups.node("Mul", [data, constant], f"{name}_scaled")
    sigmoid = groups.node("Sigmoid", [scaled], f"{name}_sigmoid")
    groups.node("Mul", [data, sigmoid], node.output[0])


def _biased(groups: Groups, node: Any, data: str, bias: str, approximate: str) -> None:
    if bias:
        if bias in groups.constants and groups.constants[bias].ndim != 1:
            raise UnsupportedError("the bias must have one axis")
        data = groups.node("Add", [data, bias], f"{groups.prefix}{node.output[0]}_sum")
    groups.node("Gelu", [data], node.output[0], approximate=approximate)
