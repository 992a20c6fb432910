"""A session's model: reads it, checks it, and describes it as ONNX Runtime does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frontends.errors import ModelFormatError
from qnn_ops.errors import QnnError
from tvm_qnn.onnxruntime.elements import dtype_of, type_of
from tvm_qnn.onnxruntime.errors import (
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    NoSuchFile,
    Unsupported,
)

if TYPE_CHECKING:
    from tvm_qnn.onnxruntime.settings import SessionOptions
    from tvm_qnn.onnxruntime.values import OrtValue

Dims = list[int | str | None]

_FREE_CONSTANTS = 4
"""The first version of the format in which runs may change an input that has a value."""

_ORT_FORMAT = slice(4, 8), b"ORTM"
_MADE_UP = "unk__"
"""The prefix that the package onnx gives to names of unknown sizes."""


@dataclass(frozen=True)
class NodeArg:
    """An input or output.

    Attributes:
        name: the tensor's name.
        type: the tensor's type, such as "tensor(float)".
        shape: a number, a name or None for each dimension; also empty if the shape is unknown.
    """

    name: str
    type: str
    shape: Dims

    def sizes(self) -> tuple[int, ...]:
        """Return the dimensions that are numbers."""
        return tuple(size for size in self.shape if isinstance(size, int))


@dataclass(frozen=True)
class ModelMetadata:
    """The description of a model in its file.

    Attributes:
        producer_name: the program that wrote it.
        graph_name: the graph's name.
        domain: the model's domain.
        description: the model's description.
        graph_description: the graph's description.
        version: the model's version.
        custom_metadata_map: texts that the model's makers added, by name.
    """

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


@dataclass
class Model:
    """A model that was read.

    Attributes:
        proto: as ``frontends.onnx.read.reader.read_proto`` returns it; None when nothing more is
            compiled.
        inputs: the inputs that a run must give.
        overridable: the inputs that a run may give: they have values.
        outputs: the results of a run.
        metadata: the file's description of the model.
        without_shape: names of inputs with any number of dimensions.
        deciding: names of inputs whose values decide on the library, such as axes.
    """

    proto: Any
    inputs: list[NodeArg]
    overridable: list[NodeArg]
    outputs: list[NodeArg]
    metadata: ModelMetadata
    without_shape: frozenset[str]
    deciding: Sequence[str] = ()

    @property
    def is_static(self) -> bool:
        """Whether the library can be compiled before a run."""
        return not self.deciding and not any(self.is_open(each) for each in self.inputs)

    def is_open(self, arg: NodeArg) -> bool:
        """Tell whether an input's shape is only known in a run; 0, too, stands for any size."""
        sizes = (isinstance(size, int) and size > 0 for size in arg.shape)
        return arg.name in self.without_shape or not all(sizes)


def read_model(source: str | bytes, options: SessionOptions) -> Model:
    """Read and check a model.

    Args:
        source: the path, or the contents of the file.
        options: the session's options.

    Raises:
        StatusError: the file cannot be read, or is malformed; of ONNX Runtime's class.
    """
    from frontends.onnx.read.mapped import map_constants
    from frontends.onnx.read.reader import read_proto

    raw = _parsed(source)
    where = source if isinstance(source, str) else None
    _set_sizes(raw, options.sizes_by_name, options.sizes_by_denotation)
    _set_constants(raw, options.initializers)
    _set_files(raw, options.files)
    try:
        if where is not None:
            map_constants(raw, os.path.dirname(os.path.abspath(where)))
    except ModelFormatError as error:
        raise Fail(f"Load model from {where} failed:{error}") from error
    try:
        proto = read_proto(raw)
    except ModelFormatError as error:
        raise InvalidGraph(f"This is an invalid model. {error}") from error
    except QnnError as error:
        raise Unsupported(str(error)) from error
    return _described(proto, raw)


def _parsed(source: str | bytes) -> Any:
    from frontends.onnx.read.names import onnx_package

    where, text = "Failed to load model because ", "protobuf parsing failed."
    if isinstance(source, str):
        where, text = f"Load model from {source} failed:", "Protobuf parsing failed."
        if not os.path.exists(source):
            raise NoSuchFile(f"{where}Load model {source} failed. File doesn't exist")
    proto = onnx_package().ModelProto()
    try:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        part, mark = _ORT_FORMAT
        if content[part] == mark:
            raise Unsupported("this is a model in ORT format: give the ONNX file it is made of")
        proto.ParseFromString(content)
    except Unsupported:
        raise
    except Exception as error:  # DecodeError, whose class depends on protobuf; OSError
        raise InvalidProtobuf(where + text) from error
    if not proto.HasField("graph"):
        where = where if isinstance(source, str) else ""
        raise InvalidArgument(f"{where}No graph was found in the protobuf.")
    return proto


def _set_sizes(proto: Any, by_name: Mapping[str, int], by_denotation: Mapping[str, int]) -> None:
    """Give open dimensions of inputs the sizes that the session's options state."""
    for value in proto.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            size = by_name.get(dim.dim_param) or by_denotation.get(dim.denotation)
            if size:
                dim.dim_value = size


def _set_constants(proto: Any, values: Mapping[str, OrtValue]) -> None:
    from frontends.onnx.read.names import onnx_package

    if not values:
        return
    to_tensor = onnx_package().numpy_helper.from_array
    known = {tensor.name: tensor for tensor in proto.graph.initializer}
    for name, value in values.items():
        if name not in known:
            raise InvalidArgument(f"the model has no initializer {name!r}")
        known[name].CopyFrom(to_tensor(value.array, name))


def _set_files(proto: Any, files: Mapping[str, bytes]) -> None:
    """Give constants their values from files that the session's options hold.

    Raises:
        Fail: a file is too short.
    """
    from frontends.onnx.read.mapped import is_external

    for tensor in filter(is_external, proto.graph.initializer):
        place = {entry.key: entry.value for entry in tensor.external_data}
        content = files.get(place.get("location", ""))
        if content is None:
            continue
        first = int(place.get("offset", 0))
        length = int(place.get("length", len(content) - first))
        if not 0 <= first <= first + length <= len(content):
            raise Fail(f"the file {place['location']!r} is too short for {tensor.name!r}")
        tensor.raw_data = content[first : first + length]
        tensor.data_location = tensor.DEFAULT
        del tensor.external_data[:]


def _described(proto: Any, raw: Any) -> Model:
    from frontends.onnx.read.deciding import deciding_inputs

    graph = raw.graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    others = [value for value in graph.input if value.name in constants]
    args = list(map(_node_arg, inputs))
    for arg in args:
        if dtype_of(arg.type) is None:
            raise Unsupported(f"input {arg.name!r} is {arg.type}: inputs are numbers or bool")
    metadata = ModelMetadata(
        producer_name=raw.producer_name,
        graph_name=graph.name,
        domain=raw.domain,
        description=raw.doc_string,
        graph_description=graph.doc_string,
        version=raw.model_version,
        custom_metadata_map={each.key: each.value for each in raw.metadata_props},
    )
    return Model(
        proto,
        args,
        list(map(_node_arg, others)) if raw.ir_version >= _FREE_CONSTANTS else [],
        _outputs(proto, graph.output),
        metadata,
        frozenset(each.name for each in graph.input if not each.type.tensor_type.HasField("shape")),
        deciding_inputs(proto),
    )


def _node_arg(value: Any) -> NodeArg:
    if value.type.WhichOneof("value") != "tensor_type":
        raise Unsupported(f"{value.name!r} is no tensor")
    tensor = value.type.tensor_type
    return NodeArg(value.name, type_of(tensor.elem_type), list(map(_size, tensor.shape.dim)))


def _size(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    return str(dim.dim_param) or None


def _outputs(proto: Any, told: Any) -> list[NodeArg]:
    """Return the outputs with their inferred shapes; sizes have the names that the file states."""
    from frontends.onnx.read.mapped import without_mapped
    from frontends.onnx.read.names import onnx_package

    bare = without_mapped(proto)
    for value in bare.graph.output:
        value.type.tensor_type.ClearField("shape")
    try:
        infer = onnx_package().shape_inference.infer_shapes
        inferred = infer(bare, data_prop=True).graph.output
    except Exception:  # the inference raises any error; then the file's own shapes stay
        inferred = bare.graph.output
    return [_merged(one, other) for one, other in zip(told, inferred, strict=True)]


def _merged(told: Any, inferred: Any) -> NodeArg:
    arg, found = _node_arg(told) if told.HasField("type") else None, _node_arg(inferred)
    found_shape: Dims = [
        None if isinstance(size, str) and size.startswith(_MADE_UP) else size
        for size in found.shape
    ]
    if arg is None or not told.type.tensor_type.HasField("shape"):
        return NodeArg(found.name, found.type, found_shape)
    if not inferred.type.tensor_type.HasField("shape"):
        return arg
    if len(found_shape) != len(arg.shape):
        return NodeArg(arg.name, arg.type, [])
    pairs = list(zip(arg.shape, found_shape, strict=True))
    is_strange = any(
        isinstance(one, int) and isinstance(other, int) and one != other for one, other in pairs
    )
    if is_strange:  # ONNX Runtime, too, then believes neither size
        return NodeArg(arg.name, arg.type, [one if one == other else None for one, other in pairs])
    merged = [other if isinstance(other, int) or one is None else one for one, other in pairs]
    return NodeArg(arg.name, arg.type, merged)
