"""Constants, wherever a model has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from frontends.errors import ModelFormatError, reason_of
from frontends.onnx.mapped import is_mapped, mapped_array
from frontends.onnx.package import onnx_package

Array = np.ndarray[Any, Any]

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


def kind_of(tensor: Any) -> str:
    """Return the dtype of an initializer, empty if it is unknown."""
    try:
        return str(onnx_package().helper.tensor_dtype_to_np_dtype(tensor.data_type).name)
    except KeyError:
        return ""


def dtype_of(value: Any) -> str:
    """Return the dtype that an input, an output or another value has.

    Raises:
        ModelFormatError: it is unknown.
    """
    kind = value.type.tensor_type.elem_type
    try:
        return str(onnx_package().helper.tensor_dtype_to_np_dtype(kind).name)
    except KeyError:
        raise ModelFormatError(f"the dtype {kind} of {value.name!r} is unknown") from None


def move_constants(graph: Any) -> None:
    """Make initializers of a graph's Constant nodes, but of texts and of sparse values.

    Raises:
        ModelFormatError: one is malformed.
    """
    kept = []
    for node in graph.node:
        (attribute, *others) = [*node.attribute] or [None]
        if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or others:
            kept.append(node)
        elif attribute is not None and attribute.name == "value":
            tensor = graph.initializer.add()
            tensor.CopyFrom(attribute.t)
            tensor.name = node.output[0]
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


def without_unread_constants(proto: Any) -> Any:
    """Return a copy of a model without initializers that nothing reads, of whatever dtype."""
    result = onnx_package().ModelProto()
    result.CopyFrom(proto)
    graph = result.graph
    read = {name for node in graph.node for name in node.input}
    read |= {name for graph in inner_graphs(graph) for node in graph.node for name in node.input}
    read |= {value.name for value in graph.output}
    kept = [tensor for tensor in proto.graph.initializer if tensor.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return result


def inner_graphs(graph: Any) -> Iterator[Any]:
    """Yield the graphs inside of a graph's nodes."""
    for node in graph.node:
        for each in node.attribute:
            for inner in ([each.g] if each.HasField("g") else []) + list(each.graphs):
                yield inner
                yield from inner_graphs(inner)
