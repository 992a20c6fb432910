"""Options of custom operators: LiteRT's flexbuffers maps, and TensorFlow's nodes."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import Table
from frontends.tflite.options.base import Options

PREFIX = "CUSTOM:"
"""The prefix of custom operators' names."""

RAW: set[str] = set()
"""The custom operators for which users gave rules."""

FLEX = f"{PREFIX}Flex"
"""The prefix of these operators' names."""

LISTS = frozenset(
    f"{FLEX}TensorList{name}"
    for name in ("FromTensor", "Gather", "GetItem", "Length", "Reserve", "SetItem", "Stack")
)
"""The imported operators on lists of tensors."""

# From tensorflow/core/framework/types.proto; other types have no tensors here.
_DTYPES = {1: "float32", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 9: "int64", 10: "bool"}
# Fields of NodeDef, of an entry of its map, and of AttrValue.
_ATTRIBUTES, _KEY, _VALUE = 5, 1, 2
_NUMBER, _FLAG, _TYPE = 3, 5, 6


def read_list_options(content: bytes) -> Options:
    """Read the options of an operator on lists.

    Returns:
        ``dtype``: of its elements; empty for a type without tensors here. ``count``: the required
        number of elements; -1 for any number. ``grows``: whether an index after its end makes it
        longer.

    Raises:
        ValueError, IndexError, KeyError, TypeError, struct.error: they are damaged.
    """
    parts = flexbuffers.GetRoot(bytearray(content)).AsVector
    if len(parts) != 2:
        raise ValueError(f"{len(parts)} parts instead of a name and a node")
    node = bytes(parts[1].AsBlob if parts[1].IsBlob else parts[1].AsStringBytes)
    found: dict[str, dict[int, int | bytes]] = {}
    for field, entry in _fields(node):
        if field == _ATTRIBUTES and isinstance(entry, bytes):
            pair = dict(_fields(entry))
            key, value = pair.get(_KEY, b""), pair.get(_VALUE, b"")
            if isinstance(key, bytes) and isinstance(value, bytes):
                found[key.decode()] = dict(_fields(value))

    def number(name: str, field: int, other: int) -> int:
        return int(found.get(name, {}).get(field, other))

    return Options(
        dtype=_DTYPES.get(number("element_dtype", _TYPE, 0), ""),
        count=_signed(number("num_elements", _NUMBER, -1)),
        grows=bool(number("resize_if_index_out_of_bounds", _FLAG, 0)),
    )


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protobuf message: numbers as int, all others as bytes."""
    offset = 0
    while offset < len(message):
        tag, offset = _varint(message, offset)
        kind = tag & 7
        if kind == 0:
            value, offset = _varint(message, offset)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise ValueError(f"a field of the unknown kind {kind}")
            size, offset = _varint(message, offset)
        if offset + size > len(message):
            raise ValueError("a field goes beyond the end")
        yield tag >> 3, message[offset : offset + size]
        offset += size


def _varint(message: bytes, offset: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte = message[offset]
        offset += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, offset
    raise ValueError("a number of more than ten bytes")


# Errors of the flexbuffers runtime on wild offsets, lengths and types.
RUNTIME_ERRORS = (
    *(struct.error, IndexError, KeyError, OverflowError),
    *(AssertionError, TypeError, ValueError, UnicodeDecodeError),
)


@dataclass(frozen=True)
class DetectionPostProcessOptions(Options):
    """Detection: the fields have the file's names, and LiteRT's defaults."""

    max_detections: int = 0
    max_classes_per_detection: int = 0
    detections_per_class: int = 100
    use_regular_nms: bool = False
    nms_score_threshold: float = 0.0
    nms_iou_threshold: float = 0.0
    num_classes: int = 0
    y_scale: float = 0.0
    x_scale: float = 0.0
    h_scale: float = 0.0
    w_scale: float = 0.0


_DETECTION = f"{PREFIX}TFLite_Detection_PostProcess"


def is_foreign(code: str) -> bool:
    """Tell whether an operator is an unknown custom operator."""
    return code.startswith(PREFIX) and code not in {_DETECTION, *LISTS, *RAW}


def read_custom_options(code: str, operator: Table) -> Options:
    """Read a custom operator's options.

    Args:
        code: the operator's name: "CUSTOM:" and the name in the file.
        operator: the operator's table.

    Returns:
        The options, empty if the operator is unknown. ``content`` is their bytes in the file if a
        user gave its rule.

    Raises:
        ModelFormatError: they are damaged, or belong to another operator.
    """
    if is_foreign(code):
        return Options()
    where = f"{operator.where} options"
    content = operator.vector("CustomOptions", "uint8").tobytes()
    if code in RAW:
        return Options(content=content)
    if code in LISTS:
        try:
            return read_list_options(content)
        except RUNTIME_ERRORS as error:
            raise ModelFormatError(f"{where}: no node of TensorFlow ({error})") from error
    values: dict[str, Any] = {}
    for field in fields(DetectionPostProcessOptions):
        value = _value(content, field.name, where)
        if value is not None:
            values[field.name] = _converted(value, field.default, f"{where}: {field.name}")
    return DetectionPostProcessOptions(**values)


def _value(content: bytes, name: str, where: str) -> bool | float | None:
    """Return the number with this name in a map; None if there is none."""
    try:
        entries = flexbuffers.GetRoot(bytearray(content)).AsMap
        entry = _entry(entries, name)
        if entry is None or entry.IsNull:
            return None
        if entry.IsBool:
            return bool(entry.AsBool)
        if not entry.IsNumeric:
            raise TypeError(f"it is of type {entry.Value!r:.40}")
        return float(entry.AsFloat) if entry.IsFloat else int(entry.AsInt)
    except RUNTIME_ERRORS as error:
        raise ModelFormatError(
            f"{where}: cannot read {name}, the options are no flexbuffers map of numbers ({error})"
        ) from error


def _entry(entries: Any, name: str) -> Any:
    try:
        return entries[name]
    except KeyError:
        return None


def _converted(value: bool | float, default: Any, where: str) -> bool | int | float:
    """Return a number as the kind of a default, as LiteRT converts it."""
    if isinstance(default, bool):
        return bool(value)
    if not np.isfinite(value):
        raise ModelFormatError(f"{where} is {value}, needs a finite number")
    if isinstance(default, int):
        if not -(1 << 31) <= value < 1 << 31:
            raise ModelFormatError(f"{where} is {value}, needs an int32")
        return int(value)
    with np.errstate(over="ignore"):
        single = float(np.float32(value))
    if not np.isfinite(single):
        raise ModelFormatError(f"{where} is {value}, needs a float32")
    return single
