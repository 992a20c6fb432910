"""Writes the tables of a .tflite file into a flatbuffer: one function, one kind of table."""

from collections.abc import Callable, Iterable, Sequence
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


def encode_offsets(builder: Any, offsets: Sequence[int]) -> int:
    """Return a vector of tables or strings."""
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


def encode_each(builder: Any, encode: Callable[[Any, Any], int], items: Iterable[Any]) -> int:
    """Write a table of each item, and return their vector."""
    return encode_offsets(builder, [encode(builder, each) for each in items])


def encode_table(builder: Any, kind: str, **fields: Any) -> int:
    """Write a table of a kind and return its offset; fields that are None are left out."""
    MEMBERS[f"{kind}Start"](builder)
    for field, value in fields.items():
        if value is not None:
            MEMBERS[f"{kind}Add{field}"](builder, value)
    return int(MEMBERS[f"{kind}End"](builder))


def _integers(builder: Any, values: Sequence[int]) -> int:
    return int(builder.CreateNumpyVector(np.array(values, np.int32)))


def encode_buffer(builder: Any, data: bytes) -> int:
    """Write the bytes of a constant, or none, and return the offset."""
    return encode_table(builder, "Buffer", Data=_aligned_bytes(builder, data) if data else None)


def encode_entry(builder: Any, entry: Entry) -> int:
    """Write a signature, and return its offset."""

    def named(pairs: Sequence[tuple[str, int]]) -> int:
        maps = [
            encode_table(builder, "TensorMap", Name=builder.CreateString(name), TensorIndex=tensor)
            for name, tensor in pairs
        ]
        return encode_offsets(builder, maps)

    return encode_table(
        builder,
        "SignatureDef",
        Inputs=named(entry.inputs),
        Outputs=named(entry.outputs),
        SignatureKey=builder.CreateString(entry.key),
        SubgraphIndex=entry.subgraph,
    )


def _aligned_bytes(builder: Any, data: bytes) -> int:
    """Add a byte vector at an aligned address; flatbuffers' CreateByteVector does not align."""
    builder.StartVector(1, len(data), _BUFFER_ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return int(builder.EndVector())


def _quantization(builder: Any, known: Quantization | Blocks | None) -> int | None:
    if known is None:
        return None
    if isinstance(known, Quantization):
        return encode_table(
            builder,
            "QuantizationParameters",
            Scale=builder.CreateNumpyVector(known.scale),
            ZeroPoint=builder.CreateNumpyVector(known.zero_point),
            QuantizedDimension=known.axis,
        )
    builder.StartObject(3)  # the package's schema does not know it
    for slot, value in enumerate((known.scales, -1, known.size)):
        builder.PrependInt32Slot(slot, value, 0)
    details = builder.EndObject()
    return encode_table(builder, "QuantizationParameters", DetailsType=_BY_BLOCK, Details=details)


def _sparsity(builder: Any, sparsity: Sparsity | None) -> int | None:
    if sparsity is None:
        return None
    levels = encode_each(builder, _level, sparsity.levels)
    order, blocks = _integers(builder, sparsity.order), _integers(builder, sparsity.blocks)
    fields = {"TraversalOrder": order, "BlockMap": blocks, "DimMetadata": levels}
    return encode_table(builder, "SparsityParameters", **fields)


def _level(builder: Any, level: Level) -> int:
    fields: dict[str, int] = {}
    for field, numbers in (("Segments", level.segments), ("Indices", level.indices)):
        if numbers is not None:
            values = _integers(builder, numbers.tolist())
            fields[f"Array{field}Type"] = tflite.SparseIndexVector.Int32Vector
            fields[f"Array{field}"] = encode_table(builder, "Int32Vector", Values=values)
    kind = int(bool(fields))
    return encode_table(builder, "DimensionMetadata", Format=kind, DenseSize=level.size, **fields)


def encode_tensor(builder: Any, tensor: TensorToWrite) -> int:
    """Write a tensor's table and return its offset."""
    name = builder.CreateString(tensor.name)
    return encode_table(
        builder,
        "Tensor",
        Shape=_integers(builder, tensor.shape),
        Type=DTYPES[tensor.dtype],
        Buffer=tensor.buffer,
        Name=name,
        IsVariable=tensor.is_variable,
        Quantization=_quantization(builder, tensor.quantization),
        Sparsity=_sparsity(builder, tensor.sparsity),
    )


def _options(builder: Any, options_type: str, options: dict[str, Any]) -> int:
    stored = {}
    for field, value in options.items():
        if isinstance(value, np.ndarray):
            value = builder.CreateNumpyVector(value)
        elif isinstance(value, str):
            value = builder.CreateString(value)
        stored[pascal_case(field)] = value
    return encode_table(builder, options_type, **stored)


def encode_operator(builder: Any, operator: OperatorToWrite) -> int:
    """Write an operator's table and return its offset."""
    inputs = _integers(builder, operator.inputs)
    outputs = _integers(builder, operator.outputs)
    middle = _integers(builder, operator.intermediates) if operator.intermediates else None
    name, fields = operator.options_type, dict[str, Any]()
    if name is not None:
        # The union of tables that has this type.
        union = "BuiltinOptions" if name in OPTIONS_TABLES else "BuiltinOptions2"
        fields[f"{union}Type"] = (OPTIONS_TABLES | LATER_OPTIONS_TABLES)[name]
        fields[union] = _options(builder, name, operator.options)
    elif operator.options:
        content = operator.options.get("values", operator.options)
        fields["CustomOptions"] = _aligned_bytes(builder, bytes(flexbuffers.Dumps(content)))
    custom = fields.pop("CustomOptions", None)
    return encode_table(
        builder,
        "Operator",
        OpcodeIndex=operator.code,
        Inputs=inputs,
        Outputs=outputs,
        **fields,
        Intermediates=middle,
        CustomOptions=custom,
    )


def encode_operator_code(builder: Any, key: tuple[int, int, str]) -> int:
    """Write the kind, version and custom name of operators, and return the offset."""
    code, version, name = key
    text = builder.CreateString(name) if name else None
    return encode_table(
        builder,
        "OperatorCode",
        # Old readers know only one byte: larger codes put 127 there.
        DeprecatedBuiltinCode=min(code, tflite.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES),
        BuiltinCode=code,
        Version=version,
        CustomCode=text,
    )


def encode_subgraph(
    builder: Any, tensors: int, inputs: Sequence[int], outputs: Sequence[int], operators: int
) -> int:
    """Write a subgraph's table and return its offset."""
    return encode_table(
        builder,
        "SubGraph",
        Tensors=tensors,
        Inputs=_integers(builder, inputs),
        Outputs=_integers(builder, outputs),
        Operators=operators,
        Name=builder.CreateString("main"),
    )
