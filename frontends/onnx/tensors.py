"""Checks of a model's tensors that the package onnx leaves out, and ONNX Runtime makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from frontends.errors import UnsupportedError, UnsupportedOperatorError
from frontends.onnx.constants import dtype_of
from frontends.onnx.limits import check_sizes

Array = np.ndarray[Any, Any]

_SMALL = 1 << 31
_DTYPES = ("int8", "uint8", "int16", "uint16", "int32")


class Tensors:
    """What is known of a model's tensors: their shapes, dtypes and values."""

    def __init__(self, graph: Any, constants: Mapping[str, Array]) -> None:
        """Read a graph whose shapes were inferred."""
        self.constants = constants
        self.shapes = shapes_of(graph)
        self.dtypes = dtypes_of(graph)
        for name, array in constants.items():
            self.shapes[name], self.dtypes[name] = array.shape, array.dtype.name


def shapes_of(graph: Any) -> dict[str, tuple[int, ...]]:
    """Return the static shapes of a graph's inputs, of what its nodes make, and of its outputs."""
    found = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        dims = tensor.shape.dim
        if tensor.HasField("shape") and all(dim.WhichOneof("value") == "dim_value" for dim in dims):
            found[value.name] = tuple(dim.dim_value for dim in dims)
    return found


def dtypes_of(graph: Any) -> dict[str, str]:
    """Return the dtypes of the same, as far as they are known."""
    values = (*graph.input, *graph.value_info, *graph.output)
    return {each.name: dtype_of(each) for each in values if each.type.tensor_type.elem_type}


Check = Callable[[Tensors, list[str], dict[str, Any]], None]
"""Raises UnsupportedError where operands or attributes do not fit."""


def check_tensors(
    graph: Any, constants: Mapping[str, Array], attributes_of: Callable[[Any], dict[str, Any]]
) -> None:
    """Check operands and attributes.

    Args:
        graph: whose shapes were inferred.
        constants: of it, by name.
        attributes_of: gives a node's attributes.

    Raises:
        UnsupportedOperatorError: it names the nodes whose operands or attributes do not fit.
    """
    tensors, found = Tensors(graph, constants), {}
    for number, node in enumerate(graph.node):
        attributes = attributes_of(node)
        try:
            _check_numbers(attributes)
            if node.op_type in CHECKS:
                CHECKS[node.op_type](tensors, list(node.input), attributes)
        except UnsupportedError as error:
            found[number] = str(error)
    if found:
        raise UnsupportedOperatorError(
            [
                (number, graph.node[number].op_type, reason, list(graph.node[number].output))
                for number, reason in found.items()
            ]
        )


def _check_numbers(attributes: dict[str, Any]) -> None:
    """Raise where a number does not fit 32 bits, which onnx and TVM would cut."""
    for name, value in attributes.items():
        numbers = value if isinstance(value, list) else [value]
        odd = [each for each in numbers if isinstance(each, int) and not -_SMALL <= each < _SMALL]
        if odd:
            raise UnsupportedError(f"{name} is {odd[0]}")


def _encoding(tensors: Tensors, inputs: list[str], attributes: dict[str, Any]) -> None:
    """Check scales and zero points."""
    data, scale, point = (*inputs, "")[:3]
    scales, points = tensors.constants.get(scale), tensors.constants.get(point)
    if scales is not None:
        wrong = scales[~(np.isfinite(scales) & (scales > 0))] if scales.dtype.kind == "f" else None
        if wrong is not None and wrong.size:
            raise UnsupportedError(f"scales must be positive and finite, got {wrong[0]}")
        if not attributes.get("block_size", 0):
            _check_sizes(tensors, data, scales, int(attributes.get("axis", 1)))
        if points is not None and points.size != scales.size:
            raise UnsupportedError(f"it has {scales.size} scales and {points.size} zero points")


def _check_sizes(tensors: Tensors, data: str, scales: Array, axis: int) -> None:
    shape = tensors.shapes.get(data)
    if scales.size == 1 or shape is None:
        return
    if axis not in range(-len(shape), len(shape)) or shape[axis] != scales.size:
        raise UnsupportedError(
            f"it has {scales.size} scales along axis {axis} of data of shape {list(shape)}"
        )


def _dequantize(tensors: Tensors, inputs: list[str], attributes: dict[str, Any]) -> None:
    _encoding(tensors, inputs, attributes)
    data, _, point = (*inputs, "")[:3]
    kinds = tensors.dtypes.get(data), tensors.dtypes.get(point)
    for kind in kinds:
        if kind is not None and kind not in _DTYPES:
            raise UnsupportedError(f"{kind} is not imported")
    if None not in kinds and kinds[0] != kinds[1]:
        raise UnsupportedError(f"its data are {kinds[0]}, its zero point is {kinds[1]}")


def _conv(tensors: Tensors, inputs: list[str], attributes: dict[str, Any]) -> None:
    shapes = [tensors.shapes.get(name) for name in inputs[:2]]
    data, weights = shapes
    if data is None or weights is None:
        return
    groups = int(attributes.get("group", 1))
    if len(data) != len(weights) or groups < 1 or data[1] != groups * weights[1]:
        raise UnsupportedError(
            f"{groups} groups of weights of shape {list(weights)} for data of shape {list(data)}"
        )
    window = attributes.get("kernel_shape")
    if window is not None and tuple(window) != weights[2:]:
        raise UnsupportedError(f"kernel_shape {window} for weights of shape {list(weights)}")


def _remainder(tensors: Tensors, inputs: list[str], attributes: dict[str, Any]) -> None:
    """Check that signs of real numbers' remainders are the dividends'."""
    if "float" in tensors.dtypes.get(inputs[0], "") and not attributes.get("fmod", 0):
        raise UnsupportedError("real numbers need fmod")


def _einsum(tensors: Tensors, inputs: list[str], attributes: dict[str, Any]) -> None:
    check_sizes(attributes["equation"], [tensors.shapes.get(name) for name in inputs])


def _reals(tensors: Tensors, inputs: list[str], _attributes: dict[str, Any]) -> None:
    """Check that there is a least value, which truth values have none of."""
    if tensors.dtypes.get(inputs[0]) == "bool":
        raise UnsupportedError("bool is not imported")


CHECKS: dict[str, Check] = {
    "Conv": _conv,
    "DequantizeLinear": _dequantize,
    "Einsum": _einsum,
    "Mod": _remainder,
    "QuantizeLinear": _encoding,
    "ReduceMax": _reals,
    "ReduceMin": _reals,
}
"""By the name of the operator."""
