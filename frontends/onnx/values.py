"""Inputs whose values are given at import: they become constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.onnx.constants import dtype_of
from frontends.onnx.package import onnx_package
from qnn_ops.errors import QnnError

Array = np.ndarray[Any, Any]


def with_values(proto: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of a model in which inputs are constants, or the model itself without values.

    Args:
        proto: the model.
        values: by the names of inputs: numbers or arrays. One number is what an input of any shape
            has in every element; a size that the file leaves open is then 1.

    Raises:
        QnnError: a name is no input's, or a value does not fit its dtype or its shape.
    """
    if not values:
        return proto
    result = onnx_package().ModelProto()
    result.CopyFrom(proto)
    graph = result.graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {value.name: value for value in graph.input if value.name not in constants}
    for name, value in values.items():
        if name not in inputs:
            text = ", ".join(map(repr, inputs)) or "none"
            raise QnnError(f"values: no input is named {name!r}; there are {text}")
        array = _fitted(inputs[name], value)
        graph.initializer.append(onnx_package().numpy_helper.from_array(array, name))
        graph.input.remove(inputs[name])
    return result


def _fitted(info: Any, given: Any) -> Array:
    """Return a value in the dtype and the shape of an input."""
    dtype, tensor = dtype_of(info), info.type.tensor_type
    try:
        value = np.asarray(given)
        with np.errstate(all="ignore"):
            array = value.astype(dtype)
        fits = value.dtype.kind in "biuf" and (
            "float" in dtype or np.array_equal(array.astype(value.dtype), value)
        )
    except (OverflowError, TypeError, ValueError):
        fits = False
    if not fits:
        raise QnnError(f"values: input {info.name!r} is {dtype}, got {given!r}")
    if not tensor.HasField("shape"):
        return array
    dims = [each.dim_value if each.HasField("dim_value") else None for each in tensor.shape.dim]
    if not array.ndim:
        return np.full([1 if size is None else size for size in dims], array)
    if len(dims) != array.ndim or any(
        size not in (None, own) for size, own in zip(dims, array.shape, strict=True)
    ):
        text = ["?" if size is None else size for size in dims]
        raise QnnError(
            f"values: input {info.name!r} has the shape {text}, got one of {list(array.shape)}"
        )
    return array
