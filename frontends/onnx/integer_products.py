"""Quantized products with float results, as the standard's operators that they fuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frontends.onnx.package import onnx_package

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

_OF_LSTM = 12
"""Operands of a DynamicQuantizeLSTM, the last of them scales and zero points."""


def matmul_integer_to_float(
    groups: Groups, node: Any, inputs: list[str], _attributes: dict[str, Any]
) -> None:
    """Write MatMulIntegerToFloat."""
    a, b, sa, sb, za, zb, bias = (*inputs, "", "", "")[:7]
    product(groups, node.output[0], [a, b, za, zb], (sa, sb), bias)


def dynamic_quantize_matmul(
    groups: Groups, node: Any, inputs: list[str], _attributes: dict[str, Any]
) -> None:
    """Write DynamicQuantizeMatMul."""
    a, b, sb, zb, bias = (*inputs, "", "")[:5]
    names = [f"{groups.prefix}{node.output[0]}_{part}" for part in ("bytes", "scale", "point")]
    make = onnx_package().helper.make_node
    groups.nodes.append(make("DynamicQuantizeLinear", [a], names))
    product(groups, node.output[0], [names[0], b, names[2], zb], (names[1], sb), bias)


def dynamic_quantize_lstm(
    groups: Groups, node: Any, inputs: list[str], attributes: dict[str, Any]
) -> None:
    """Write DynamicQuantizeLSTM: an LSTM that has also the encodings of its weights."""
    operands = [*inputs[:_OF_LSTM], *[""] * (_OF_LSTM - len(inputs))]
    make = onnx_package().helper.make_node
    groups.nodes.append(make("LSTM", operands, list(node.output), **attributes))


def product(
    groups: Groups, output: str, operands: list[str], scales: tuple[str, str], bias: str
) -> None:
    """Add integer sums, their product with both scales, and the sum with the bias.

    Args:
        groups: of the model.
        output: the name of the result.
        operands: data, weights, and their zero points, empty for none.
        scales: of data and of weights.
        bias: empty for none.
    """

    def name(part: str) -> str:
        return f"{groups.prefix}{output}_{part}"

    while not operands[-1]:
        operands.pop()
    sums = groups.node("MatMulInteger", operands, name("sums"))
    real = groups.node("Cast", [sums], name("real"), to=onnx_package().TensorProto.FLOAT)
    scale = groups.node("Mul", list(scales), name("factor"))
    scaled = groups.node("Mul", [real, scale], name("product") if bias else output)
    if bias:
        groups.node("Add", [scaled, bias], output)
