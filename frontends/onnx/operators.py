"""The operators that are imported: a table of the checks of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frontends.errors import UnsupportedError, UnsupportedOperatorError

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


def _max_pool(attributes: Attributes) -> None:
    if attributes.get("ceil_mode", 0) or any(size != 1 for size in attributes.get("dilations", ())):
        raise UnsupportedError("ceil_mode and dilations are not imported")


def _conv(attributes: Attributes) -> None:
    if len(attributes.get("kernel_shape", (1, 1))) != 2:
        raise UnsupportedError("its window must have two dimensions")


def _quantize(attributes: Attributes) -> None:
    if attributes.get("block_size", 0):
        raise UnsupportedError("scales of blocks are not imported")
    if attributes.get("precision", 0) or attributes.get("output_dtype", 0):
        raise UnsupportedError("a stated precision or output_dtype is not imported")


def _conv_integer(attributes: Attributes) -> None:
    _conv(attributes)
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise UnsupportedError("auto_pad is not imported")


OPERATORS: dict[str, Check] = {
    **dict.fromkeys(("Add", "Concat", "GlobalAveragePool", "MatMul", "Mul"), _anything),
    **dict.fromkeys(("Clip", "LeakyRelu", "Relu", "Sigmoid", "Softmax"), _anything),
    **dict.fromkeys(("Constant", "Flatten", "Identity", "Reshape"), _anything),
    **dict.fromkeys(("Squeeze", "Transpose", "Unsqueeze"), _anything),
    **dict.fromkeys(("Cast", "DynamicQuantizeLinear", "MatMulInteger"), _anything),
    **dict.fromkeys(("ConstantOfShape", "Div", "Equal", "Erf", "Expand", "Gather"), _anything),
    "Gelu": _anything,
    **dict.fromkeys(("LayerNormalization", "Neg", "Not", "Pow", "Range", "ReduceMean"), _anything),
    **dict.fromkeys(("Shape", "Slice", "Split", "Sqrt", "Sub", "Tanh", "Where"), _anything),
    "Conv": _conv,
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _quantize,
    "Gemm": _gemm,
    "MaxPool": _max_pool,
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
