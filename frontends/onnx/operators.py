"""The operators that are imported: a table of the checks of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frontends.errors import UnsupportedError, UnsupportedOperatorError

_FLOAT = 1
"""float32 among the numbers of element types."""

Attributes = dict[str, Any]
Check = Callable[[Attributes], None]
"""Raises UnsupportedError where an operator of these attributes is not imported."""


def _anything(_attributes: Attributes) -> None:
    """Take it as it is."""


def _gemm(attributes: Attributes) -> None:
    if attributes.get("alpha", 1.0) != 1 or attributes.get("beta", 1.0) != 1:
        raise UnsupportedError("alpha and beta must be 1: ONNX Runtime's QGemm contradicts ONNX")
    if attributes.get("transA", 0):
        raise UnsupportedError("the first operand must not be transposed")


def _quantize(attributes: Attributes) -> None:
    if attributes.get("precision", 0) not in (0, _FLOAT):
        raise UnsupportedError("a stated precision is not imported")


def _dequantize(attributes: Attributes) -> None:
    if attributes.get("output_dtype", 0) not in (0, _FLOAT):
        raise UnsupportedError("real numbers and scales must be float32")


def _conv_integer(attributes: Attributes) -> None:
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise UnsupportedError("auto_pad is not imported")


_PLAIN = (
    *("Abs", "Add", "And", "ArgMax", "AveragePool", "BatchNormalization", "Cast", "Ceil", "Clip"),
    *("Concat", "Constant", "Conv", "ConvTranspose", "Elu", "Exp", "Floor", "GlobalMaxPool"),
    *("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Log", "Or", "ReduceSum", "ScatterND"),
    *("ConstantOfShape", "DepthToSpace", "Div", "DynamicQuantizeLinear", "Equal", "Erf", "Expand"),
    *("Flatten", "GRU", "Gather", "GatherElements", "Gelu", "GlobalAveragePool", "HardSigmoid"),
    *("HardSwish", "Identity", "LSTM", "LayerNormalization", "LeakyRelu", "MatMul"),
    *("MatMulInteger", "RNN"),
    *("Max", "MaxPool", "Min", "Mul", "Neg", "Not", "PRelu", "Pad", "Pow", "QLinearConv"),
    *("QLinearMatMul", "Range", "ReduceMax", "ReduceMean", "ReduceMin", "Relu", "Reshape"),
    *("Resize", "Round", "Shape", "Sigmoid", "Slice", "Softmax", "SpaceToDepth", "Split", "Sqrt"),
    *("Squeeze", "Sub", "Tanh", "Tile", "Transpose", "Unsqueeze", "Where"),
)

OPERATORS: dict[str, Check] = {
    **dict.fromkeys(_PLAIN, _anything),
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "Gemm": _gemm,
    "QuantizeLinear": _quantize,
}
"""By name, all of the standard's own domain."""


def reasons(nodes: Any, attributes_of: Callable[[Any], Attributes]) -> dict[int, str]:
    """Tell why nodes cannot be imported, by their numbers."""
    found: dict[int, str] = {}
    for number, node in enumerate(nodes):
        check = OPERATORS.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        if check is None:
            found[number] = "no conversion rule"
            continue
        try:
            check(attributes_of(node))
        except UnsupportedError as error:
            found[number] = str(error)
    return found


def check_operators(nodes: Any, attributes_of: Callable[[Any], Attributes]) -> None:
    """Raise unless every node can be imported.

    Raises:
        UnsupportedOperatorError: it names those that cannot.
    """
    if found := reasons(nodes, attributes_of):
        raise UnsupportedOperatorError(
            [
                (number, nodes[number].op_type, reason, list(nodes[number].output))
                for number, reason in found.items()
            ]
        )
