"""Checks of a model's tensors that ONNX Runtime makes and the package onnx leaves out."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.constants import Array, dtype_of
from frontends.onnx.read.limits import check_sizes
from frontends.onnx.read.names import attributes_of, refuse, whole
from qnn_ops.errors import QnnError

_ARRAYS = (
    *("bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)
"""The dtypes of a run's inputs and outputs."""
_SMALL = 1 << 31
_DTYPES = ("int8", "uint8", "int16", "uint16", "int32")


def checked_dtype(name: str, dtype: str) -> str:
    """Return the dtype of an input or output.

    Raises:
        QnnError: no array of a run has it.
    """
    if dtype not in _ARRAYS:
        raise QnnError(f"{name!r} is {dtype}: inputs and outputs may be {', '.join(_ARRAYS)}")
    return dtype


def check_inputs(graph: Graph) -> None:
    """Check the dtypes of inputs, before anything is computed."""
    for value in graph.input:
        if value.type.WhichOneof("value") == "tensor_type":
            checked_dtype(value.name, dtype_of(value))


Check = Callable[[Graph, list[str], dict[str, Any]], None]
"""Raises UnsupportedError if operands or attributes do not fit."""


def check_tensors(graph: Graph) -> None:
    """Check operands and attributes.

    Args:
        graph: a graph with inferred shapes.

    Raises:
        UnsupportedOperatorError: it names the nodes whose operands or attributes do not fit.
    """

    def reason(node: Any) -> str:
        attributes = attributes_of(node)
        try:
            _check_numbers(attributes)
            if node.op_type in CHECKS:
                CHECKS[node.op_type](graph, list(node.input), attributes)
        except UnsupportedError as error:
            return str(error)
        return ""

    refuse(graph.node, dict(enumerate(map(reason, graph.node))))


def _check_numbers(attributes: dict[str, Any]) -> None:
    """Raise if a number does not fit 32 bits: onnx and TVM would cut it."""
    for name, value in attributes.items():
        numbers = value if isinstance(value, list) else [value]
        odd = [each for each in numbers if isinstance(each, int) and not -_SMALL <= each < _SMALL]
        if odd:
            raise UnsupportedError(f"{name} is {odd[0]}")


def _encoding(graph: Graph, inputs: list[str], attributes: dict[str, Any]) -> None:
    """Check scales and zero points."""
    data, scale, point = (*inputs, "")[:3]
    scales, points = graph.constants.get(scale), graph.constants.get(point)
    if scales is not None:
        wrong = scales[~(np.isfinite(scales) & (scales > 0))] if scales.dtype.kind == "f" else None
        if wrong is not None and wrong.size:
            raise UnsupportedError(f"scales must be positive and finite, got {wrong[0]}")
        if not attributes.get("block_size", 0):
            _check_sizes(graph, data, scales, int(attributes.get("axis", 1)))
        if points is not None and points.size != scales.size:
            raise UnsupportedError(f"it has {scales.size} scales and {points.size} zero points")


def _check_sizes(graph: Graph, data: str, scales: Array, axis: int) -> None:
    shape = graph.known_shape(data)
    if scales.size == 1 or shape is None:
        return
    if axis not in range(-len(shape), len(shape)) or shape[axis] != scales.size:
        raise UnsupportedError(
            f"it has {scales.size} scales along axis {axis} of data of shape {list(shape)}"
        )


def _dequantize(graph: Graph, inputs: list[str], attributes: dict[str, Any]) -> None:
    _encoding(graph, inputs, attributes)
    data, _, point = (*inputs, "")[:3]
    kinds = graph.dtype(data), graph.dtype(point)
    for kind in kinds:
        if kind and kind not in _DTYPES:
            raise UnsupportedError(f"{kind} is not imported")
    if all(kinds) and kinds[0] != kinds[1]:
        raise UnsupportedError(f"its data are {kinds[0]}, its zero point is {kinds[1]}")


def _conv(graph: Graph, inputs: list[str], attributes: dict[str, Any]) -> None:
    shapes = [graph.known_shape(name) for name in inputs[:2]]
    data, weights = shapes
    if data is None or weights is None:
        return
    groups = whole(attributes.get("group", 1), "group")
    if len(data) != len(weights) or groups < 1 or data[1] != groups * weights[1]:
        raise UnsupportedError(
            f"{groups} groups of weights of shape {list(weights)} for data of shape {list(data)}"
        )
    window = attributes.get("kernel_shape")
    if window is not None and tuple(window) != weights[2:]:
        raise UnsupportedError(f"kernel_shape {window} for weights of shape {list(weights)}")


CHECKS: dict[str, Check] = {
    "Conv": _conv,
    "DequantizeLinear": _dequantize,
    "Einsum": lambda graph, inputs, stated: check_sizes(
        stated["equation"], [*map(graph.known_shape, inputs)]
    ),
    "QuantizeLinear": _encoding,
}
"""By the name of the operator."""
