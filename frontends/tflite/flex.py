"""Options of TensorFlow's own operators in a TFLite file: a NodeDef in a flexbuffers vector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flatbuffers import flexbuffers

from frontends.tflite.options.base import Options

FLEX = "CUSTOM:Flex"
"""The names of these operators begin with it."""

LISTS = frozenset(
    f"{FLEX}TensorList{name}"
    for name in ("FromTensor", "Gather", "GetItem", "Length", "Reserve", "SetItem", "Stack")
)
"""The imported operators on lists of tensors."""

# Of tensorflow/core/framework/types.proto; others have no tensors here.
_DTYPES = {1: "float32", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 9: "int64", 10: "bool"}
# Fields of NodeDef, of an entry of its map, and of AttrValue.
_ATTRIBUTES, _KEY, _VALUE = 5, 1, 2
_NUMBER, _FLAG, _TYPE = 3, 5, 6


@dataclass(frozen=True)
class TensorListOptions(Options):
    """List of tensors.

    Attributes:
        dtype: of its elements; nothing for one that there are no tensors of.
        count: how many elements it must have; -1 for any number.
        grows: whether a place behind its end makes it longer.
    """

    dtype: str = "float32"
    count: int = -1
    grows: bool = False


def read_list_options(content: bytes) -> TensorListOptions:
    """Read the options of an operator on lists.

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

    return TensorListOptions(
        dtype=_DTYPES.get(number("element_dtype", _TYPE, 0), ""),
        count=_signed(number("num_elements", _NUMBER, -1)),
        grows=bool(number("resize_if_index_out_of_bounds", _FLAG, 0)),
    )


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a protobuf message: numbers as int, all others as bytes."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise ValueError(f"a field of the unknown kind {kind}")
            size, place = _varint(message, place)
        if place + size > len(message):
            raise ValueError("a field goes beyond the end")
        yield tag >> 3, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        byte = message[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
    raise ValueError("a number of more than ten bytes")
