"""The tables of a .tflite file, still in Python, and their encoding as a flatbuffer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite
from flatbuffers import flexbuffers

from frontends.tflite.model import Entry
from frontends.tflite.quantization import Blocks, Quantization
from frontends.tflite.schema import (
    DTYPES,
    LATER_OPTIONS_TABLES,
    MEMBERS,
    OPTIONS_TABLES,
    pascal_case,
)
from frontends.tflite.sparsity import Level, Sparsity
from qnn_ops.arrays import Array

_BY_BLOCK = 2  # details of a quantization
_BUFFER_ALIGNMENT = 16  # the runtime expects this of constants, as the schema says


@dataclass(frozen=True)
class TensorToWrite:
    """A tensor's table, still in Python."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | Blocks | None
    buffer: int
    sparsity: Sparsity | None = None
    is_variable: bool = False


@dataclass(frozen=True)
class OperatorToWrite:
    """An operator's table, still in Python."""

    code: int  # position in the model's list of (operator, version, custom name)
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_type: str | None
    options: dict[str, Any]
    intermediates: tuple[int, ...]


class TableToWrite:
    """A table of any kind; fields that are None are left out."""

    def __init__(self, kind: str, **fields: Any) -> None:
        """Keep the fields, which hold what ``encode`` takes."""
        self.kind, self.fields = kind, fields


def encode(builder: Any, value: Any) -> Any:
    """Write a table, a text, bytes, a vector of numbers or a list of tables; return its offset.

    A number stays itself: it is written with its table.
    """
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, bytes):
        return _aligned_bytes(builder, value)
    if isinstance(value, np.ndarray):
        return builder.CreateNumpyVector(value)
    if isinstance(value, Blocks):
        return _blocks(builder, value)
    if isinstance(value, list):
        offsets = [encode(builder, each) for each in value]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()
    if not isinstance(value, TableToWrite):
        return value
    given = {field: each for field, each in value.fields.items() if each is not None}
    stored = {field: encode(builder, each) for field, each in given.items()}
    MEMBERS[f"{value.kind}Start"](builder)
    for field, each in stored.items():
        MEMBERS[f"{value.kind}Add{field}"](builder, each)
    return MEMBERS[f"{value.kind}End"](builder)


def _aligned_bytes(builder: Any, data: bytes) -> int:
    """Add a byte vector at an aligned address; flatbuffers' CreateByteVector does not align."""
    builder.StartVector(1, len(data), _BUFFER_ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return int(builder.EndVector())


def _blocks(builder: Any, blocks: Blocks) -> int:
    builder.StartObject(3)  # the package's schema does not know it
    for slot, value in enumerate((blocks.scales, -1, blocks.size)):
        builder.PrependInt32Slot(slot, value, 0)
    return int(builder.EndObject())


def integers(values: Sequence[int] | Array) -> Array:
    """Return a vector of int32."""
    return np.array(values, np.int32)


def entry_table(entry: Entry) -> TableToWrite:
    """Return a signature."""
    inputs, outputs = (
        [TableToWrite("TensorMap", Name=name, TensorIndex=tensor) for name, tensor in pairs]
        for pairs in (entry.inputs, entry.outputs)
    )
    key, number = entry.key, entry.subgraph
    return TableToWrite(
        "SignatureDef", Inputs=inputs, Outputs=outputs, SignatureKey=key, SubgraphIndex=number
    )


def _quantization(known: Quantization | Blocks | None) -> TableToWrite | None:
    kind = "QuantizationParameters"
    if known is None:
        return None
    if isinstance(known, Blocks):
        return TableToWrite(kind, DetailsType=_BY_BLOCK, Details=known)
    return TableToWrite(
        kind, Scale=known.scale, ZeroPoint=known.zero_point, QuantizedDimension=known.axis
    )


def _sparsity(sparsity: Sparsity | None) -> TableToWrite | None:
    if sparsity is None:
        return None
    return TableToWrite(
        "SparsityParameters",
        TraversalOrder=integers(sparsity.order),
        BlockMap=integers(sparsity.blocks),
        DimMetadata=[_level(each) for each in sparsity.levels],
    )


def _level(level: Level) -> TableToWrite:
    fields: dict[str, Any] = {}
    for field, numbers in (("Segments", level.segments), ("Indices", level.indices)):
        if numbers is not None:
            fields[f"Array{field}Type"] = tflite.SparseIndexVector.Int32Vector
            fields[f"Array{field}"] = TableToWrite("Int32Vector", Values=integers(numbers))
    kind = int(bool(fields))
    return TableToWrite("DimensionMetadata", Format=kind, DenseSize=level.size, **fields)


def tensor_table(tensor: TensorToWrite) -> TableToWrite:
    """Return a tensor's table."""
    return TableToWrite(
        "Tensor",
        Shape=integers(tensor.shape),
        Type=DTYPES[tensor.dtype],
        Buffer=tensor.buffer,
        Name=tensor.name,
        IsVariable=tensor.is_variable,
        Quantization=_quantization(tensor.quantization),
        Sparsity=_sparsity(tensor.sparsity),
    )


def operator_table(operator: OperatorToWrite) -> TableToWrite:
    """Return an operator's table."""
    name, options, fields = operator.options_type, operator.options, dict[str, Any]()
    if name is not None:
        # The union of tables that has this type.
        union = "BuiltinOptions" if name in OPTIONS_TABLES else "BuiltinOptions2"
        stored = {pascal_case(field): value for field, value in options.items()}
        fields[f"{union}Type"] = (OPTIONS_TABLES | LATER_OPTIONS_TABLES)[name]
        fields[union] = TableToWrite(name, **stored)
    elif options:
        fields["CustomOptions"] = bytes(flexbuffers.Dumps(options.get("values", options)))
    middle = operator.intermediates
    return TableToWrite(
        "Operator",
        OpcodeIndex=operator.code,
        Inputs=integers(operator.inputs),
        Outputs=integers(operator.outputs),
        Intermediates=integers(middle) if middle else None,
        **fields,
    )


def operator_code_table(key: tuple[int, int, str]) -> TableToWrite:
    """Return the table of operators' kind, version and custom name."""
    code, version, name = key
    return TableToWrite(
        "OperatorCode",
        # Old readers know only one byte: larger codes put 127 there.
        DeprecatedBuiltinCode=min(code, tflite.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES),
        BuiltinCode=code,
        Version=version,
        CustomCode=name or None,
    )
