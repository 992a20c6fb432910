"""ONNX models: read, checked, and with shapes that are known."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from frontends.bounds import check_elements
from frontends.errors import ModelFormatError, UnsupportedError
from frontends.onnx.constants import move_constants
from frontends.onnx.functions import without_functions
from frontends.onnx.limits import check_equations, check_windows
from frontends.onnx.mapped import is_external, is_mapped, map_constants, without_mapped
from frontends.onnx.package import onnx_package
from frontends.onnx.tidy import LEAST_OPSET, MOST_OPSET, tidy
from qnn_ops.attributes import int_list_attr
from qnn_ops.errors import QnnError

_LARGE = 1 << 62
_MOST_UNITS = 1 << 24

NO_DATA = "tvm_qnn_no_data"
"""The entry of a model in which shape inference shall not follow values; see ``growth``."""

_STRANGE, _OTHER_DOMAIN = "SimplifiedLayerNormalization", "tvm_qnn.unchecked"

Shapes = Mapping[str, Sequence[int]]


def read_proto(model: Any) -> Any:
    """Return a checked ``ModelProto`` whose constants are all initializers.

    Large ones that lie beside the file stay there; ``array_of`` knows where they are.

    Args:
        model: a path, a file's contents, or a ``ModelProto``, which stays as it is.

    Raises:
        ModelFormatError: the model is malformed, or its constants are not there.
        QnnError: the package onnx is missing, or the model needs operators of another version.
        OSError: the file cannot be read.
    """
    onnx = onnx_package()
    proto = onnx.ModelProto()
    if isinstance(model, onnx.ModelProto):
        proto.CopyFrom(model)
    elif isinstance(model, bytes | bytearray | memoryview):
        _parse(proto, bytes(model))
    elif isinstance(model, str | os.PathLike):
        with open(model, "rb") as file:
            _parse(proto, file.read())
        map_constants(proto, os.path.dirname(os.path.abspath(model)))
    else:
        raise QnnError(f"an ONNX model is a path, bytes or ModelProto, got {type(model).__name__}")
    try:
        tidy(proto)
        check_equations(proto)
    except UnicodeDecodeError as error:  # of the protobuf library
        text = f"a name is no text in UTF-8 ({error.object!r})"
        raise ModelFormatError(f"the ONNX model is malformed: {text}") from None
    _check_external(proto)
    _check_model(onnx, proto)
    proto = without_functions(proto)
    _check_opset(proto)
    move_constants(proto.graph)
    return proto


def _check_model(onnx: Any, proto: Any) -> None:
    """Raise if the package finds a fault, but that inputs and outputs have no shape."""
    types = (value.type for value in (*proto.graph.input, *proto.graph.output))
    tensors = (each.tensor_type for each in types if each.WhichOneof("value") == "tensor_type")
    shapeless = [tensor for tensor in tensors if not tensor.HasField("shape")]
    for tensor in shapeless:
        tensor.shape.SetInParent()
    # ONNX Runtime has it in the standard's domain, where the package does not know it.
    strange = [node for node in proto.graph.node if node.op_type == _STRANGE and not node.domain]
    for node in strange:
        node.domain = _OTHER_DOMAIN
    others = len(proto.opset_import)
    if strange:
        proto.opset_import.append(onnx.helper.make_opsetid(_OTHER_DOMAIN, 1))
    try:
        onnx.checker.check_model(without_mapped(proto))
    except Exception as error:  # of onnx.checker, and of the protobuf library on its way
        raise ModelFormatError(f"the ONNX model is malformed: {_line(error)}") from None
    for tensor in shapeless:
        tensor.ClearField("shape")
    for node in strange:
        node.domain = ""
    del proto.opset_import[others:]


def with_shapes(proto: Any, shapes: Shapes | None) -> Any:
    """Return a copy of the model whose inputs have static shapes, and the shapes that follow.

    Args:
        proto: the model.
        shapes: of inputs by name, where they are not the file's.

    Raises:
        QnnError: a name is no input's, or a size is missing, or not positive.
        ModelFormatError: the shapes do not fit the operators.
    """
    onnx = onnx_package()
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    shapes = dict(shapes or {})
    constants = {tensor.name for tensor in result.graph.initializer}
    inputs = [value for value in result.graph.input if value.name not in constants]
    # What is a constant is none of the inputs, as files of old have it.
    del result.graph.input[:]
    result.graph.input.extend(inputs)
    names = [value.name for value in inputs]
    for name in shapes:
        if name not in names:
            text = ", ".join(map(repr, names)) or "none"
            raise QnnError(f"shape: no input is named {name!r}; there are {text}")
    found = (
        (value.name, _set_shape(value, shapes.get(value.name))) for value in result.graph.input
    )
    if open_ones := [(name, text) for name, text in found if text]:
        raise QnnError(_needed(open_ones))
    del result.graph.value_info[:]
    check_windows(result)
    try:
        return _inferred(onnx, result)
    except Exception:  # as above
        for value in result.graph.output:  # files tell wrong ones, which ONNX Runtime passes over
            value.type.tensor_type.ClearField("shape")
    try:
        return _inferred(onnx, result)
    except Exception as error:  # as above
        raise ModelFormatError(f"the ONNX model's shapes do not fit: {_line(error)}") from None


def _inferred(onnx: Any, proto: Any) -> Any:
    """Infer shapes, also of what the standard has not, or has in later versions alone."""
    opset, constants = opset_of(proto), len(proto.graph.initializer)
    follows_data = not any(entry.key == NO_DATA for entry in proto.metadata_props)
    unknown = {
        number: node
        for number, node in enumerate(proto.graph.node)
        if node.op_type in _STAND_INS and not onnx.defs.has(node.op_type, opset)
    }
    if not unknown:
        return onnx.shape_inference.infer_shapes(proto, strict_mode=True, data_prop=follows_data)
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for number, node in unknown.items():
        copy.graph.node[number].CopyFrom(_STAND_INS[node.op_type](onnx, copy.graph, node))
    result = onnx.shape_inference.infer_shapes(copy, strict_mode=True, data_prop=follows_data)
    for number, node in unknown.items():
        result.graph.node[number].CopyFrom(node)
    del result.graph.initializer[constants:]
    return result


def _like_data(onnx: Any, _graph: Any, node: Any) -> Any:
    return onnx.helper.make_node("Identity", list(node.input[:1]), list(node.output[:1]))


def _with_units(onnx: Any, graph: Any, node: Any) -> Any:
    """Return a node whose result has the data's axes, and other elements along the last one."""
    (units,) = (each.i for each in node.attribute if each.name == "N")
    if not 0 < units <= _MOST_UNITS:
        raise ValueError(f"{node.op_type} of {node.output[0]!r}: N is {units}")
    name = f"{node.output[0]}_tvm_qnn_places"
    tensor = onnx.helper.make_tensor(name, onnx.TensorProto.INT64, [units], [0] * units)
    graph.initializer.append(tensor)
    return onnx.helper.make_node("Gather", [node.input[0], name], list(node.output[:1]), axis=-1)


_STAND_INS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **dict.fromkeys(("Gelu", "LayerNormalization", "RMSNormalization"), _like_data),
    **dict.fromkeys(("DequantizeFloat8", "QuantizeFloat8"), _like_data),
    "MatMulNBits": _with_units,
}
"""What gives results of the same shapes as operators that the package may not know."""


def _set_shape(value: Any, given: Sequence[int] | None) -> str:
    """Give an input its shape; return the one that it has if that is open, and else nothing."""
    if value.type.WhichOneof("value") != "tensor_type":
        raise QnnError(f"input {value.name!r} must be a tensor")
    dims = value.type.tensor_type.shape.dim
    if given is not None:
        sizes = int_list_attr(f"the shape of input {value.name!r}", given)
        if dims and len(sizes) != len(dims):  # for a scalar, ONNX Runtime takes any shape
            raise QnnError(f"input {value.name!r} has {len(dims)} dimensions, got {sizes}")
        value.type.tensor_type.shape.SetInParent()
        del dims[:]
        for size in sizes:
            dims.add().dim_value = min(size, _LARGE)
    if not value.type.tensor_type.HasField("shape"):
        return "no shape"
    # In a file, 0 is what exporters write of a size that is open.
    least = 1 if given is None else 0
    if any(dim.WhichOneof("value") != "dim_value" or dim.dim_value < least for dim in dims):
        known = (each.dim_value if each.HasField("dim_value") else each.dim_param for each in dims)
        return str(["?" if size == "" else size for size in known])
    try:
        check_elements([dim.dim_value for dim in dims])
    except UnsupportedError as error:
        raise QnnError(f"input {value.name!r}: {error}") from None
    return ""


def _needed(inputs: Sequence[tuple[str, str]]) -> str:
    """Say that inputs need static shapes, by their names and the shapes that they have."""
    if len(inputs) > 1:
        text = ", ".join(f"{name!r} has {shape}" for name, shape in inputs)
        return f"inputs need static shapes, {text}: give their shapes by name"
    ((name, shape),) = inputs
    if shape == "no shape":
        return f"input {name!r} has no shape: give its shape by name"
    return f"input {name!r} needs a static shape, got {shape}: give its shape by name"


def _parse(proto: Any, content: bytes) -> None:
    try:
        proto.ParseFromString(content)
    except Exception as error:  # DecodeError, of whatever library protobuf uses
        raise ModelFormatError(f"the ONNX model is malformed: {_line(error)}") from None
    if not proto.HasField("graph"):
        raise ModelFormatError("the ONNX model is malformed: it has no graph")


def _check_external(proto: Any) -> None:
    for sparse in proto.graph.sparse_initializer:
        raise ModelFormatError(f"the constant {sparse.values.name!r} is sparse: write it in full")
    for tensor in proto.graph.initializer:
        if is_external(tensor) and not is_mapped(tensor):
            raise ModelFormatError(
                f"the constant {tensor.name!r} is in another file: give the model's path"
            )


def opset_of(proto: Any) -> int:
    """Return the version of the standard's operators, 0 if it is not stated."""
    versions = (each.version for each in proto.opset_import if each.domain in ("", "ai.onnx"))
    return next(versions, 0)


def _check_opset(proto: Any) -> None:
    version = opset_of(proto)
    if not LEAST_OPSET <= version <= MOST_OPSET:
        raise QnnError(
            f"the model needs operators of version {version or 'unknown'}: "
            f"versions {LEAST_OPSET} to {MOST_OPSET} are imported; onnx.version_converter changes "
            "it"
        )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
