"""Quantized products with float results, as the standard's operators that they fuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frontends.errors import UnsupportedError
from frontends.onnx.package import onnx_package

if TYPE_CHECKING:
    from frontends.onnx.qoperators import Groups

_OF_LSTM = 12
"""Operands of a DynamicQuantizeLSTM, the last of them scales and zero points."""
_OF_MATRIX = 2


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
    if _is_scaled_last(groups, operands[1], scales[1]):
        of_data = groups.node("Mul", [real, scales[0]], name("product"))
        biased = groups.node("Add", [of_data, bias], name("biased")) if bias else of_data
        groups.node("Mul", [biased, scales[1]], output)
        return
    scale = groups.node("Mul", list(scales), name("factor"))
    scaled = groups.node("Mul", [real, scale], name("product") if bias else output)
    if bias:
        groups.node("Add", [scaled, bias], output)


def _is_scaled_last(groups: Groups, weights: str, scale: str) -> bool:
    """Tell whether scales of columns come after the bias, as ONNX Runtime has it of matrices.

    Its kernel takes scales of the axes that the weights have. Others it multiplies its result by.
    """
    try:
        sizes = groups.shape(scale)
    except UnsupportedError:  # as of one that the run tells
        return False
    return len(sizes) == 1 and sizes[0] > 1 and groups.rank(weights) > _OF_MATRIX
