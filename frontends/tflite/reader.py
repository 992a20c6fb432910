"""Reads a TFLite file into `frontends.tflite.model`; the one place that knows the file format.

Everything in the file is checked before it is used, as LiteRT's interpreter builder and its
flatbuffers verifier do, so that a damaged file gives a `ModelFormatError` and nothing else.
"""

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tflite

from frontends.errors import ModelFormatError
from frontends.tflite.file_names import IDENTIFIER
from frontends.tflite.flatbuffer import Table
from frontends.tflite.interface.signatures import read_entries, with_first
from frontends.tflite.model import Model, Operator, Tensor
from frontends.tflite.options.base import read_options
from frontends.tflite.options.custom import is_foreign, read_custom_options
from frontends.tflite.quantization import Blocks, Quantization
from frontends.tflite.schema import DTYPES, OPERATORS, by_value
from frontends.tflite.sparsity import BITS, densified, packed_size, read_sparsity, unpack

_HEADER_SIZE = 8  # root offset and identifier
_SCHEMA_VERSION = 3
_BUILTIN_CODE_SLOT = 3  # of the OperatorCode table
_MAX_RANK = 32  # of a numpy array, before numpy 2
_CUSTOM, _BY_BLOCK = 1, 2  # details of a quantization; LiteRT ignores the first as well

_OPERATOR_NAMES, _TENSOR_TYPES = by_value(OPERATORS), by_value(DTYPES)

# Named one by one: other packages may add int4 and bfloat16 to numpy, in unpacked form.
_NUMPY_TYPES = set(DTYPES) - {"string", "resource", "variant", "bfloat16", "uint4", *BITS}
# Value ranges of the types that carry scales and zero points.
_INTEGER_RANGES = {
    name: (int(np.iinfo(name).min), int(np.iinfo(name).max))
    for name in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "int64")
} | {name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in BITS.items()}
# int32 and int64 tensors are usually biases, whose scale no kernel reads: a pruned channel may have
# the scale 0 there, or NaN. Code that reads the scale checks it.
_SCALE_MAY_BE_ANY = ("uint32", "int32", "int64")


def read_signature(model: bytes | str | os.PathLike[str] | Any, key: str) -> bytes:
    """Return a TFLite file with only one signature, whose subgraph is the first.

    Args:
        model: as for ``read_model``.
        key: the signature's name.

    Raises:
        ModelFormatError: as ``read_model``.
        QnnError: there is no such signature.
        OSError: the path cannot be read.
    """
    return with_first(bytes(_bytes_of(model)), read_model(model), key)


def read_model(model: bytes | bytearray | memoryview | str | os.PathLike[str] | Any) -> Model:
    """Read a TFLite model.

    Args:
        model: the file's bytes, its path, or a `tflite.Model`. Constants of the result are
            views into these bytes.

    Returns:
        The first subgraph, with the other ones as its ``subgraphs``.

    Raises:
        ModelFormatError: the file is not a TFLite file, is damaged, or holds invalid tensors,
            quantizations or options; the message says where.
        OSError: the path cannot be read.
    """
    data = _bytes_of(model)
    if not isinstance(model, str | os.PathLike):
        return _model_of(data)
    try:
        return _model_of(data)
    except ModelFormatError as error:
        raise ModelFormatError(f"{os.fspath(model)}: {error}") from error


def _model_of(data: memoryview) -> Model:
    if len(data) < _HEADER_SIZE or data[4:8] != IDENTIFIER:
        raise ModelFormatError(
            f"not a TFLite file: needs {IDENTIFIER.decode()} at byte 4, "
            f"got {bytes(data[4:8])!r} in {len(data)} bytes"
        )
    root = Table.root(tflite.Model, data, "model")
    version = root.scalar("Version")
    if version != _SCHEMA_VERSION:
        raise ModelFormatError(f"model: schema version is {version}, needs {_SCHEMA_VERSION}")
    subgraphs = root.tables("Subgraphs", "subgraph")
    if not subgraphs:
        raise ModelFormatError("model: holds no subgraph")
    buffers = [_buffer(table, data) for table in root.tables("Buffers", "buffer")]
    codes = [_operator_code(table) for table in root.tables("OperatorCodes", "operator code")]
    main = _subgraph(subgraphs[0], buffers, codes)
    others = []
    for number, table in enumerate(subgraphs[1:], 1):
        try:
            others.append(_subgraph(table, buffers, codes))
        except ModelFormatError as error:
            raise ModelFormatError(f"subgraph {number}: {error}") from error
    return replace(
        main,
        description=root.string("Description"),
        subgraphs=tuple(others),
        entries=read_entries(root),
    )


def _subgraph(
    subgraph: Table, buffers: list[np.ndarray | None], codes: list[tuple[str, int]]
) -> Model:
    tables = subgraph.tables("Tensors", "tensor")
    if not tables:
        raise subgraph.error("holds no tensors")
    tensors = tuple(
        _tensor(index, table, buffers, len(tables)) for index, table in enumerate(tables)
    )
    result = Model(
        tensors=tensors,
        operators=tuple(
            _operator(index, table, codes, len(tensors))
            for index, table in enumerate(subgraph.tables("Operators", "operator"))
        ),
        inputs=_tensor_indices(subgraph, "Inputs", len(tensors)),
        outputs=_tensor_indices(subgraph, "Outputs", len(tensors)),
    )
    _check_order(result)
    return result


def _bytes_of(model: Any) -> memoryview:
    if isinstance(model, str | os.PathLike):
        return memoryview(Path(model).read_bytes())
    # A tflite.Model, of this package or of another that generated the same accessors.
    content = getattr(getattr(model, "_tab", None), "Bytes", model)
    try:
        view = memoryview(content)
    except TypeError:
        raise ModelFormatError(
            f"model: got {type(model).__name__}, needs bytes, a path or a tflite.Model"
        ) from None
    if view.format != "B" or view.ndim != 1 or not view.c_contiguous:
        view = memoryview(view.tobytes())
    return view.toreadonly()


def _buffer(table: Table, data: memoryview) -> np.ndarray | None:
    """Return a buffer's bytes; None if it is empty, as for a tensor without data."""
    if table.length("Data", 1):
        return table.vector("Data", "uint8")
    offset, size = int(table.scalar("Offset")), int(table.scalar("Size"))
    # Files of more than 2 GiB keep data behind the flatbuffer; offset 1 is a placeholder.
    if offset <= 1 or size == 0:
        return None
    if offset + size > len(data):
        what = f"a file of {len(data)} bytes"
        raise table.error(f"bytes {offset} to {offset + size} are outside {what}")
    return np.frombuffer(data, np.uint8, count=size, offset=offset)


def _operator_code(table: Table) -> tuple[str, int]:
    """Name and version."""
    # The old field is one byte; newer operators only fit the new field, and the larger one counts.
    # (The package's own BuiltinCode() gives the old one for all numbers that fit it.)
    number = max(
        int(table.scalar("DeprecatedBuiltinCode")),
        table.int32_at(_BUILTIN_CODE_SLOT, "BuiltinCode"),
    )
    name = _OPERATOR_NAMES.get(number, f"BUILTIN_{number}")
    if name == "CUSTOM":
        name = f"CUSTOM:{table.string('CustomCode')}"
    return name, int(table.scalar("Version"))


def _tensor(
    index: int, table: Table, buffers: list[np.ndarray | None], tensor_count: int
) -> Tensor:
    name = table.string("Name")
    table.where = f"tensor {index} {name!r}"
    shape = table.integers("Shape")
    if len(shape) > _MAX_RANK or any(size < 0 for size in shape):
        most = f"needs at most {_MAX_RANK} dimensions, none of them negative"
        raise table.error(f"shape is {_brief(shape)}, {most}")
    dtype = table.enum("Type", _TENSOR_TYPES)
    number = int(table.scalar("Buffer"))
    if number >= len(buffers):
        raise table.error(f"buffer is {number}, the model has {len(buffers)} buffers")
    raw = buffers[number] if number else None  # buffer 0 stands for "no data"
    data = None if raw is None else _constant(table, raw, shape, dtype)
    return Tensor(
        index=index,
        name=name,
        shape=shape,
        # LiteRT's kernels unpack it as this type.
        dtype="int8" if dtype in BITS else dtype,
        quantization=_quantization(table, shape, dtype, is_constant=data is not None),
        data=data,
        shape_signature=table.integers("ShapeSignature"),
        is_variable=bool(table.scalar("IsVariable")),
        packed=dtype if dtype in BITS else "",
        blocks=_blocks(table, dtype, tensor_count),
    )


def _constant(table: Table, raw: np.ndarray, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    count = math.prod(shape)
    sparsity = table.table("Sparsity", table.where)
    if sparsity is not None:
        if dtype not in _NUMPY_TYPES or raw.size % np.dtype(dtype).itemsize:
            raise table.error(f"stores {raw.size} bytes of {dtype} sparsely")
        return densified(raw.view(dtype), read_sparsity(sparsity), shape, table.where)
    if dtype not in _NUMPY_TYPES and dtype not in BITS:
        return raw
    needed = packed_size(dtype, count) if dtype in BITS else count * np.dtype(dtype).itemsize
    if raw.size < needed:
        what = f"shape {_brief(shape)} of {dtype}"
        raise table.error(f"buffer holds {raw.size} bytes, {what} needs {needed}")
    raw = raw[:needed]  # LiteRT does not read the bytes after it either
    values = unpack(raw, dtype, count) if dtype in BITS else raw.view(dtype)
    try:
        return values.reshape(shape)
    except ValueError as error:  # no elements, of an astronomic shape
        raise table.error(f"no array has the shape {_brief(shape)}") from error


def _quantization(
    table: Table, shape: tuple[int, ...], dtype: str, *, is_constant: bool
) -> Quantization | None:
    parameters = table.table("Quantization", table.where)
    # A trained float or bool tensor may carry a range; nothing computes with it.
    if parameters is None or dtype not in _INTEGER_RANGES:
        return None
    if parameters.scalar("DetailsType") == _BY_BLOCK:
        return None
    scale = parameters.vector("Scale", "float32")
    if scale.size == 0:
        return None
    zero_point = parameters.vector("ZeroPoint", "int64")
    if zero_point.size != scale.size:
        raise _malformed(table, f"{scale.size} scales but {zero_point.size} zero points")
    axis = int(parameters.scalar("QuantizedDimension")) if scale.size > 1 else 0
    if scale.size > 1:
        if not 0 <= axis < len(shape):
            raise _malformed(table, f"axis {axis} is not in shape {_brief(shape)}")
        if scale.size != shape[axis]:
            raise _malformed(
                table,
                f"{scale.size} scales, axis {axis} of shape {_brief(shape)} needs {shape[axis]}",
            )
    # A constant of zeros may have the scale 0, and any tensor a negative or infinite scale. Code
    # that cannot use such a scale raises an error.
    usable = (np.abs(scale) > 0) | (is_constant and scale.size == 1 and scale == 0)
    if dtype not in _SCALE_MAY_BE_ANY and not usable.all():
        channel = int(np.argmin(usable))
        raise _malformed(table, f"scale {channel} is {scale[channel]}, needs a positive number")
    low, high = _INTEGER_RANGES[dtype]
    outside = (zero_point < low) | (zero_point > high)
    if outside.any():
        channel = int(np.argmax(outside))
        raise _malformed(
            table, f"zero point {channel} is {zero_point[channel]}, {dtype} needs {low} to {high}"
        )
    return Quantization(scale, zero_point, axis)


def _blocks(table: Table, dtype: str, tensor_count: int) -> Blocks | None:
    parameters = table.table("Quantization", table.where)
    if parameters is None or dtype not in _INTEGER_RANGES:
        return None
    kind = int(parameters.scalar("DetailsType"))
    if kind in (0, _CUSTOM):
        return None
    # The package's schema is older than this table, so the numbers of its fields are used.
    details = parameters.union("Details", tflite.CustomQuantization, table.where)
    if kind != _BY_BLOCK or details is None:
        raise _malformed(table, f"its details are of the unknown type {kind}")
    scales, points, size = (details.int32_at(slot, "scales by block") for slot in range(3))
    if not 0 <= scales < tensor_count:
        raise _malformed(table, f"its scales are tensor {scales} of {tensor_count}")
    if points >= 0:
        raise _malformed(table, "zero points by block are not supported")
    if size < 1:
        raise _malformed(table, f"its blocks have {size} weights, need at least 1")
    return Blocks(scales, size)


def _malformed(table: Table, reason: str) -> ModelFormatError:
    return table.error(f"malformed quantization: {reason}")


def _operator(
    index: int, table: Table, codes: list[tuple[str, int]], tensor_count: int
) -> Operator:
    number = int(table.scalar("OpcodeIndex"))
    if number >= len(codes):
        raise table.error(f"operator code is {number}, the model has {len(codes)}")
    code, version = codes[number]
    table.where = f"operator {index} {code}"
    read = read_custom_options if code.startswith("CUSTOM:") else read_options
    return Operator(
        index=index,
        code=code,
        version=version,
        inputs=_tensor_indices(table, "Inputs", tensor_count, optional=True),
        outputs=_tensor_indices(table, "Outputs", tensor_count),
        options=read(code, table),
        intermediates=_tensor_indices(table, "Intermediates", tensor_count),
    )


def _check_order(model: Model) -> None:
    """Check that every tensor gets its value once, and before it is read.

    LiteRT runs operators in the file's order even if an operand has no value yet. Such an operand
    holds uninitialized memory in the first run, and the values of the previous run in later ones.
    Variables have a value from the start.
    """
    variables = {tensor.index for tensor in model.tensors if tensor.is_variable}
    ready = variables.union(model.inputs)
    # A tensor without elements has nothing to wait for: an empty constant looks like that.
    ready.update(t.index for t in model.tensors if t.data is not None or 0 in t.shape)
    free = {index for index in ready if 0 in model.tensors[index].shape} | variables
    for operator in model.operators:
        where = f"operator {operator.index} {operator.code}"
        # Operators of other runtimes may read tensors that they wrote themselves, as scratch
        # memory.
        for index in () if is_foreign(operator.code) else operator.inputs:
            if index >= 0 and index not in ready:
                label = model.tensors[index].label
                raise ModelFormatError(f"{where}: reads {label} before it has a value")
        for index in operator.outputs:
            if index in ready and index not in free:
                label = model.tensors[index].label
                raise ModelFormatError(f"{where}: writes {label}, which has a value already")
            ready.add(index)
    for index in model.outputs:
        if index not in ready:
            raise ModelFormatError(f"model: output {model.tensors[index].label} has no value")


def _tensor_indices(
    table: Table, field: str, tensor_count: int, optional: bool = False
) -> tuple[int, ...]:
    indices = table.integers(field)
    lowest = -1 if optional else 0
    for index in indices:
        if not lowest <= index < tensor_count:
            known = f"the subgraph has tensors 0 to {tensor_count - 1}"
            raise table.error(f"{field.lower()} name tensor {index}, {known}")
    return indices


def _brief(shape: tuple[int, ...]) -> str:
    return str(shape) if len(shape) <= _MAX_RANK else f"of {len(shape)} dimensions"
