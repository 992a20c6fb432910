"""Constants: from a file, from values given at import, and the numbers of a Range."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frontends.bounds import check_indices
from frontends.errors import ModelFormatError, UnsupportedError, reason_of
from frontends.onnx.read.mapped import is_mapped, mapped_array
from frontends.onnx.read.names import copied, is_of_standard, numbers_of, onnx_package
from qnn_ops.errors import QnnError

Array = np.ndarray[Any, Any]


def range_of(start: Array, limit: Array, delta: Array) -> Array:
    """Return the numbers from a start to before a limit; each is its predecessor plus a step.

    Real numbers are rounded after each step, as in ONNX Runtime.

    Args:
        start: one number.
        limit: one number, of the same dtype.
        delta: one number, of the same dtype.

    Raises:
        UnsupportedError: an operand has several numbers, or there are no steps or too many.
    """
    if max(start.size, limit.size, delta.size) != 1 or not delta.item():
        raise UnsupportedError("it needs a start, a limit and a step that is not 0")
    if start.dtype.kind == "f":
        with np.errstate(all="ignore"):
            steps = np.ceil(np.float64((limit - start).item()) / np.float64(delta.item()))
        if not np.isfinite(steps):
            raise UnsupportedError(f"it has {steps} numbers")
    else:
        steps = -((int(start.item()) - int(limit.item())) // int(delta.item()))
    count = max(int(steps), 0)
    check_indices(count)
    numbers = np.full(count, delta.item(), start.dtype)
    numbers[:1] = start.item()
    return np.add.accumulate(numbers, dtype=start.dtype, out=numbers)


_KINDS = {"value_float": np.float32, "value_floats": np.float32} | dict.fromkeys(
    ("value_int", "value_ints"), np.int64
)


def constants_of(proto: Any) -> dict[str, Array]:
    """Return the values of a model's initializers by name.

    Raises:
        ModelFormatError: one is malformed.
    """
    return {tensor.name: array_of(tensor) for tensor in proto.graph.initializer}


def array_of(tensor: Any) -> Array:
    """Return an initializer's values.

    Raises:
        ModelFormatError: it is malformed.
    """
    onnx = onnx_package()
    if is_mapped(tensor):
        return mapped_array(tensor)
    try:
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    except KeyError:
        text = f"its dtype {tensor.data_type} is unknown"
    except Exception as error:  # ValueError, TypeError: sizes and dtypes that do not fit
        text = reason_of(error)
    raise ModelFormatError(f"the constant {tensor.name!r}: {text}")


def dtype_named(kind: int) -> str:
    """Return the dtype of a number of an element type, empty if it is unknown."""
    try:
        return str(onnx_package().helper.tensor_dtype_to_np_dtype(kind).name)
    except KeyError:
        return ""


def dtype_of(value: Any) -> str:
    """Return the dtype that an input, an output or another value has.

    Raises:
        ModelFormatError: it is unknown.
    """
    kind = value.type.tensor_type.elem_type
    if not (found := dtype_named(kind)):
        raise ModelFormatError(f"the dtype {kind} of {value.name!r} is unknown")
    return found


def move_constants(graph: Any) -> None:
    """Turn a graph's Constant nodes, except for texts and sparse values, into initializers.

    Raises:
        ModelFormatError: one is malformed.
    """
    kept = []
    for node in graph.node:
        (attribute, *others) = [*node.attribute] or [None]
        if not is_of_standard(node, "Constant") or others:
            kept.append(node)
        elif attribute is not None and attribute.name == "value":
            graph.initializer.append(attribute.t)
            graph.initializer[-1].name = node.output[0]
        elif attribute is not None and attribute.name in _KINDS:
            value = onnx_package().helper.get_attribute_value(attribute)
            array = np.array(value, _KINDS[attribute.name])
            graph.initializer.append(onnx_package().numpy_helper.from_array(array, node.output[0]))
        else:
            kept.append(node)
    if len(kept) < len(graph.node):
        copies = [type(node).FromString(node.SerializeToString()) for node in kept]
        del graph.node[:]
        graph.node.extend(copies)


def with_values(proto: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of a model in which inputs are constants, or the model itself without values.

    Args:
        proto: the model.
        values: numbers or arrays by the names of inputs. A number fills an input of any shape;
            sizes that the file leaves open are then 1.

    Raises:
        QnnError: a name is not an input's, or a value does not fit the input's dtype or shape.
    """
    if not values:
        return proto
    result = copied(proto)
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
    dims = numbers_of(info)
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
