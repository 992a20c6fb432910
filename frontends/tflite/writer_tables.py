"""Writes the tables of a .tflite file into a flatbuffer: one function, one kind of table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite
from flatbuffers import flexbuffers

from frontends.tflite.model import Entry
from frontends.tflite.option_fields import MEMBERS
from frontends.tflite.quantization import Blocks, Quantization
from frontends.tflite.schema import DTYPES, LATER_OPTIONS_TABLES, OPTIONS_TABLES, pascal_case
from frontends.tflite.sparsity import Level, Sparsity

_BY_BLOCK = 2  # details of a quantization
_BUFFER_ALIGNMENT = 16  # what the runtime expects of constants; the schema says so too


@dataclass(frozen=True)
class TensorToWrite:
    """A tensor's table, as yet in Python."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | Blocks | None
    buffer: int
    sparsity: Sparsity | None = None
    is_variable: bool = False


@dataclass(frozen=True)
class OperatorToWrite:
    """An operator's table, as yet in Python."""

    code: int  # position in the model's list of (operator, version, custom name)
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_type: str | None
    options: dict[str, Any]
    intermediates: tuple[int, ...]


def encode_offsets(builder: Any, offsets: Sequence[int]) -> int:
    """Return a vector of tables or strings."""
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def _integers(builder: Any, values: Sequence[int]) -> int:
    return int(builder.CreateNumpyVector(np.array(values, np.int32)))


def encode_buffer(builder: Any, data: bytes) -> int:
    """Write the bytes of a constant, or none, and return where."""
    vector = _aligned_bytes(builder, data) if data else None
    tflite.BufferStart(builder)
    if vector is not None:
        tflite.BufferAddData(builder, vector)
    return int(tflite.BufferEnd(builder))


def encode_metadata(builder: Any, name: str, buffer: int) -> int:
    """Write that a buffer holds metadata of a name, and return where."""
    text = builder.CreateString(name)
    tflite.MetadataStart(builder)
    tflite.MetadataAddName(builder, text)
    tflite.MetadataAddBuffer(builder, buffer)
    return int(tflite.MetadataEnd(builder))


def encode_entry(builder: Any, entry: Entry) -> int:
    """Write a signature, and return where."""

    def named(pairs: Sequence[tuple[str, int]]) -> int:
        maps = []
        for name, tensor in pairs:
            text = builder.CreateString(name)
            tflite.TensorMapStart(builder)
            tflite.TensorMapAddName(builder, text)
            tflite.TensorMapAddTensorIndex(builder, tensor)
            maps.append(tflite.TensorMapEnd(builder))
        return encode_offsets(builder, maps)

    inputs, outputs, key = (
        named(entry.inputs),
        named(entry.outputs),
        builder.CreateString(entry.key),
    )
    tflite.SignatureDefStart(builder)
    tflite.SignatureDefAddInputs(builder, inputs)
    tflite.SignatureDefAddOutputs(builder, outputs)
    tflite.SignatureDefAddSignatureKey(builder, key)
    tflite.SignatureDefAddSubgraphIndex(builder, entry.subgraph)
    return int(tflite.SignatureDefEnd(builder))


def _aligned_bytes(builder: Any, data: bytes) -> int:
    """Add a byte vector at an aligned address; flatbuffers' CreateByteVector does not align."""
    builder.StartVector(1, len(data), _BUFFER_ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return int(builder.EndVector())


def _quantization(builder: Any, quantization: Quantization | Blocks) -> int:
    if isinstance(quantization, Blocks):
        return _blocks(builder, quantization)
    scale = builder.CreateNumpyVector(quantization.scale)
    zero_point = builder.CreateNumpyVector(quantization.zero_point)
    tflite.QuantizationParametersStart(builder)
    tflite.QuantizationParametersAddScale(builder, scale)
    tflite.QuantizationParametersAddZeroPoint(builder, zero_point)
    tflite.QuantizationParametersAddQuantizedDimension(builder, quantization.axis)
    return int(tflite.QuantizationParametersEnd(builder))


def _blocks(builder: Any, blocks: Blocks) -> int:
    builder.StartObject(3)  # of which the package's schema knows nothing
    for slot, value in enumerate((blocks.scales, -1, blocks.size)):
        builder.PrependInt32Slot(slot, value, 0)
    details = builder.EndObject()
    tflite.QuantizationParametersStart(builder)
    tflite.QuantizationParametersAddDetailsType(builder, _BY_BLOCK)
    tflite.QuantizationParametersAddDetails(builder, details)
    return int(tflite.QuantizationParametersEnd(builder))


def _sparsity(builder: Any, sparsity: Sparsity) -> int:
    levels = encode_offsets(builder, [_level(builder, level) for level in sparsity.levels])
    order, blocks = (_integers(builder, axes) for axes in (sparsity.order, sparsity.blocks))
    tflite.SparsityParametersStart(builder)
    tflite.SparsityParametersAddTraversalOrder(builder, order)
    tflite.SparsityParametersAddBlockMap(builder, blocks)
    tflite.SparsityParametersAddDimMetadata(builder, levels)
    return int(tflite.SparsityParametersEnd(builder))


def _level(builder: Any, level: Level) -> int:
    vectors = []
    for numbers in (level.segments, level.indices):
        if numbers is not None:
            values = _integers(builder, numbers.tolist())
            tflite.Int32VectorStart(builder)
            tflite.Int32VectorAddValues(builder, values)
            vectors.append(int(tflite.Int32VectorEnd(builder)))
    tflite.DimensionMetadataStart(builder)
    tflite.DimensionMetadataAddFormat(builder, int(bool(vectors)))
    tflite.DimensionMetadataAddDenseSize(builder, level.size)
    for field, vector in zip(("Segments", "Indices"), vectors, strict=False):
        kind = tflite.SparseIndexVector.Int32Vector
        getattr(tflite, f"DimensionMetadataAddArray{field}Type")(builder, kind)
        getattr(tflite, f"DimensionMetadataAddArray{field}")(builder, vector)
    return int(tflite.DimensionMetadataEnd(builder))


def encode_tensor(builder: Any, tensor: TensorToWrite) -> int:
    """Write a tensor's table and return where."""
    name = builder.CreateString(tensor.name)
    shape = _integers(builder, tensor.shape)
    quantization = _quantization(builder, tensor.quantization) if tensor.quantization else None
    sparsity = _sparsity(builder, tensor.sparsity) if tensor.sparsity else None
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, DTYPES[tensor.dtype])
    tflite.TensorAddBuffer(builder, tensor.buffer)
    tflite.TensorAddName(builder, name)
    tflite.TensorAddIsVariable(builder, tensor.is_variable)
    if quantization is not None:
        tflite.TensorAddQuantization(builder, quantization)
    if sparsity is not None:
        tflite.TensorAddSparsity(builder, sparsity)
    return int(tflite.TensorEnd(builder))


def _options(builder: Any, options_type: str, options: dict[str, Any]) -> int:
    stored = {}
    for field, value in options.items():
        if isinstance(value, np.ndarray):
            value = builder.CreateNumpyVector(value)
        stored[field] = builder.CreateString(value) if isinstance(value, str) else value
    MEMBERS[f"{options_type}Start"](builder)
    for field, value in stored.items():
        MEMBERS[f"{options_type}Add{pascal_case(field)}"](builder, value)
    return int(MEMBERS[f"{options_type}End"](builder))


def encode_operator(builder: Any, operator: OperatorToWrite) -> int:
    """Write an operator's table and return where."""
    inputs = _integers(builder, operator.inputs)
    outputs = _integers(builder, operator.outputs)
    middle = _integers(builder, operator.intermediates) if operator.intermediates else None
    options_type = operator.options_type
    options = None if options_type is None else _options(builder, options_type, operator.options)
    has_map = options_type is None and operator.options
    content = operator.options.get("values", operator.options)
    custom = _aligned_bytes(builder, bytes(flexbuffers.Dumps(content))) if has_map else None
    tflite.OperatorStart(builder)
    tflite.OperatorAddOpcodeIndex(builder, operator.code)
    tflite.OperatorAddInputs(builder, inputs)
    tflite.OperatorAddOutputs(builder, outputs)
    if options is not None:
        _add_options(builder, str(options_type), options)
    if middle is not None:
        tflite.OperatorAddIntermediates(builder, middle)
    if custom is not None:
        tflite.OperatorAddCustomOptions(builder, custom)
    return int(tflite.OperatorEnd(builder))


def _add_options(builder: Any, options_type: str, options: int) -> None:
    """Put an operator's options into the union that has their type."""
    if options_type in OPTIONS_TABLES:
        tflite.OperatorAddBuiltinOptionsType(builder, OPTIONS_TABLES[options_type])
        tflite.OperatorAddBuiltinOptions(builder, options)
    else:
        tflite.OperatorAddBuiltinOptions2Type(builder, LATER_OPTIONS_TABLES[options_type])
        tflite.OperatorAddBuiltinOptions2(builder, options)


def encode_operator_code(builder: Any, code: int, version: int, name: str) -> int:
    """Write what operators of one kind and version are, and return where."""
    # Old readers know one byte only; larger codes put 127 there and the code in the newer field.
    deprecated = min(code, tflite.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES)
    text = builder.CreateString(name) if name else None
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, deprecated)
    tflite.OperatorCodeAddBuiltinCode(builder, code)
    tflite.OperatorCodeAddVersion(builder, version)
    if text is not None:
        tflite.OperatorCodeAddCustomCode(builder, text)
    return int(tflite.OperatorCodeEnd(builder))


def encode_subgraph(
    builder: Any, tensors: int, inputs: Sequence[int], outputs: Sequence[int], operators: int
) -> int:
    """Write a subgraph's table and return where."""
    input_vector = _integers(builder, inputs)
    output_vector = _integers(builder, outputs)
    name = builder.CreateString("main")
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, input_vector)
    tflite.SubGraphAddOutputs(builder, output_vector)
    tflite.SubGraphAddOperators(builder, operators)
    tflite.SubGraphAddName(builder, name)
    return int(tflite.SubGraphEnd(builder))
