"""Quantized operators, written as equivalent groups: dequantize, a float operator, quantize.

ONNX Runtime gives the same integers for both forms.
"""

from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.standard import FLOAT, INT32
from frontends.onnx.replacements.registry import Call, rule

_OF_IMAGES = 4
"""The number of axes of weights for images; weights of unknown rank count as weights for images."""


def dequantized(graph: Graph, data: str, scale: str, zero_point: str = "", *, axis: int = 0) -> str:
    """Add a DequantizeLinear.

    Raises:
        UnsupportedError: the scale or the zero point is not constant.
    """
    encoding = [name for name in (scale, zero_point) if name]
    several = [graph.value(name).size > 1 for name in encoding]
    axes: dict[str, Any] = {"axis": axis} if several[0] else {}
    output = f"{graph.prefix}{data}_{len(graph.node)}"  # then an error names the data
    return graph.add("DequantizeLinear", data, *encoding, output=output, **axes)


def _quantized(call: Call, operands: list[str], into: list[str]) -> None:
    """Add the float operator of a quantized one, and the QuantizeLinear of its result.

    Raises:
        UnsupportedError: the result's scale or zero point is not constant.
    """
    encoding = [name for name in into if name]
    for name in encoding:
        call.graph.value(name)
    op = call.node.op_type.removeprefix("QLinear").removeprefix("Q")
    real = call.add(op, *operands, **call.attributes)
    call.end("QuantizeLinear", real, *encoding)


def _bias(graph: Graph, bias: str, scales: tuple[str, str]) -> str:
    """Add the DequantizeLinear of a bias whose scale is the product of two scales.

    Raises:
        UnsupportedError: the bias is not constant, or its last axis is not that of the scales.
    """
    product = graph.value(scales[0]).astype(np.float32) * graph.value(scales[1])
    steps = np.asarray(product.reshape(()) if product.size == 1 else product.reshape(-1))
    array = graph.value(bias)
    if steps.size > 1 and array.shape[-1:] != steps.shape:  # one bias for all
        try:
            array = np.broadcast_to(array, (*array.shape[:-1], steps.size))
        except ValueError:
            raise UnsupportedError(
                f"a bias of shape {list(array.shape)} for {steps.size} scales"
            ) from None
        bias = graph.constant(np.ascontiguousarray(array))
    return dequantized(graph, bias, graph.constant(steps), axis=max(array.ndim - 1, 0))


@rule("QLinearConv", "QLinearMatMul")
def _product(call: Call) -> None:
    a, sa, za, b, sb, zb, sy, zy, bias = (*call.inputs, "")[:9]
    graph, unit_axis = call.graph, int(call.node.op_type == "QLinearMatMul")
    encoding = [name for name in (sa, za, sb, zb, sy, zy, bias) if name]
    is_known = all(name in graph.constants for name in encoding)
    if not is_known or any(len(graph.shape(name)) > 1 for name in encoding):  # of many matrices
        _product_of_sums(call)
        return
    operands = [dequantized(graph, a, sa, za), dequantized(graph, b, sb, zb, axis=unit_axis)]
    if bias:
        operands.append(_bias(graph, bias, (sa, sb)))
    _quantized(call, operands, [sy, zy])


def _product_of_sums(call: Call) -> None:
    """Add nodes for int32 sums, the bias, and the product with scales that need not be constant."""
    graph = call.graph
    a, sa, za, b, sb, zb, sy, zy, bias = (*call.inputs, "")[:9]
    if any(graph.dtype(name) not in ("", "float32") for name in (sa, sb, sy)):
        raise UnsupportedError("scales must be float32")
    is_conv = call.node.op_type == "QLinearConv"
    op = "ConvInteger" if is_conv else "MatMulInteger"
    sums = graph.add(op, a, b, za, zb, **call.attributes)
    if is_conv:
        column = [-1, *[1] * ((graph.rank(b) or _OF_IMAGES) - 2)]
        sb = graph.add("Reshape", sb, column)
        if bias:
            sums = graph.add("Add", sums, graph.add("Reshape", bias, column))
    factor = graph.add("Div", graph.add("Mul", sa, sb), sy)
    _rescaled(call, sums, factor, zy, apart=1)


def _rescaled(call: Call, sums: str, factor: Any, point: str, **attributes: int) -> None:
    """Add nodes that multiply int32 sums by a factor, and quantize the product."""
    steps = call.add("Mul", call.add("Cast", sums, to=FLOAT), factor)
    call.end("QuantizeLinear", steps, 1.0, point, **attributes)


@rule("QGemm")
def _gemm(call: Call) -> None:
    graph = call.graph
    a, sa, za, b, sb, zb, bias, sy, zy = (*call.inputs, "", "", "")[:9]
    if not sy or (bias and bias not in graph.constants):
        _gemm_of_sums(call)
        return
    unit_axis = 0 if call.integer("transB") else 1
    if (alpha := call.attributes.pop("alpha", 1.0)) != 1:
        sa = graph.constant(np.asarray(graph.value(sa) * np.float32(alpha), np.float32))
    operands = [dequantized(graph, a, sa, za), dequantized(graph, b, sb, zb, axis=unit_axis)]
    if bias:
        operands.append(_bias(graph, bias, (sa, sb)))
    _quantized(call, operands, [sy, zy])


def _gemm_of_sums(call: Call) -> None:
    """Add nodes for int32 sums, the bias, and the product with the scales; quantize it if asked."""
    graph = call.graph
    a, sa, za, b, sb, zb, bias, sy, zy = (*call.inputs, "", "", "")[:9]
    if call.integer("transA"):
        a = graph.add("Transpose", a, perm=[1, 0])
    if call.integer("transB") and b in graph.constants:
        b = graph.constant(np.ascontiguousarray(graph.value(b).T))
    elif call.integer("transB"):
        b = graph.add("Transpose", b, perm=[1, 0])
    sums = graph.add("MatMulInteger", a, b, za, zb)
    if bias:
        sums = graph.add("Add", sums, bias)
    scale = np.float32(np.float32(call.real("alpha", 1.0)) * np.float32(graph.value(sa).item()))
    factor = np.asarray(scale * graph.value(sb), np.float32)
    if sy:
        factor = np.asarray(factor / np.float32(graph.value(sy).item()), np.float32)
        _rescaled(call, sums, factor, zy)
    else:
        call.end("Mul", graph.add("Cast", sums, to=FLOAT), factor)


@rule("MatMulInteger16")
def _matmul_int16(call: Call) -> None:
    call.end("MatMul", *[call.add("Cast", name, to=INT32) for name in call.inputs])


def _reals(call: Call, parts: list[str]) -> list[str]:
    """Add the DequantizeLinears of operands: integers, scale and zero point of each."""
    triples = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [dequantized(call.graph, *triple) for triple in triples]


@rule("QLinearConcat")
def _concat(call: Call) -> None:
    _quantized(call, _reals(call, call.inputs[2:]), call.inputs[:2])


@rule("QLinearWhere")
def _where(call: Call) -> None:
    condition, *parts = call.operands(9, 9)
    _quantized(call, [condition, *_reals(call, parts[:6])], parts[6:])


_OF_TWO = ("QLinearAdd", "QLinearMul")
_OF_ONE = (
    *("QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearSigmoid"),
    "QLinearSoftmax",
)


@rule(*_OF_TWO, *_OF_ONE)
def _elementwise(call: Call) -> None:
    graph, inputs, attrs = call.graph, call.inputs, call.attributes
    count = 6 if call.node.op_type in _OF_TWO else 3
    sy, zy = (*inputs[count:], "")[:2]
    if (attrs.pop("opset", graph.opset) < 13) != (graph.opset < 13):
        raise UnsupportedError("its softmax is of another operator set than the model")
    if call.node.op_type == "QLinearSoftmax":  # its early versions have another default axis
        attrs.setdefault("axis", -1)
    operands = _reals(call, inputs[:count])
    if not zy and graph.dtype(inputs[0]) == "int8":  # otherwise the result would be uint8
        zy = graph.constant(np.int8(0))
    _quantized(call, operands, [sy, zy])


@rule("NhwcMaxPool")
def _max_pool(call: Call) -> None:
    call.end("MaxPool", *call.inputs, **call.attributes)
