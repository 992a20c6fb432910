"""Writes MXNet files in each of the forms that MXNet has written, for the readers' tests."""

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from qnn_ops.arrays import Array

V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
LEGACY = 0
FLAGS = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "uint8": 3,
    "int32": 4,
    "int8": 5,
    "int64": 6,
    "bool": 7,
    "int16": 8,
    "uint16": 9,
    "uint32": 10,
    "uint64": 11,
}


def shape_bytes(shape: Sequence[int]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)


def dense(array: Array, magic: int = V2, flag: int | None = None) -> bytes:
    """Return a dense array."""
    flag = FLAGS[str(array.dtype)] if flag is None else flag
    if magic == LEGACY:
        head = struct.pack(f"<{1 + array.ndim}I", array.ndim, *array.shape)
    else:
        storage = struct.pack("<i", 0) if magic in (V2, V3) else b""
        head = struct.pack("<I", magic) + storage + shape_bytes(array.shape)
    return head + struct.pack("<iii", 1, 0, flag) + array.tobytes()


def sparse(shape: Sequence[int], values: Array, *indices: Array) -> bytes:
    """Return a row_sparse array with one array of indices, a csr one with two."""
    head = struct.pack("<Ii", V2, len(indices)) + shape_bytes(values.shape) + shape_bytes(shape)
    head += struct.pack("<iii", 1, 0, FLAGS[str(values.dtype)])
    for index in indices:
        head += struct.pack("<i", FLAGS[str(index.dtype)]) + shape_bytes(index.shape)
    return head + values.tobytes() + b"".join(index.tobytes() for index in indices)


def array_list(arrays: Sequence[bytes], names: Sequence[str] = ()) -> bytes:
    """Return a parameter file of encoded arrays."""
    data = struct.pack("<QQQ", 0x112, 0, len(arrays)) + b"".join(arrays)
    data += struct.pack("<Q", len(names))
    for name in names:
        data += struct.pack("<Q", len(name.encode())) + name.encode()
    return data


def symbol_json(nodes: Sequence[Mapping[str, Any]], **fields: Any) -> str:
    """Return a symbol of some nodes, whose last one is its output."""
    graph = {
        "nodes": [{"inputs": [], **node} for node in nodes],
        "arg_nodes": [index for index, node in enumerate(nodes) if node["op"] == "null"],
        "heads": [[len(nodes) - 1, 0, 0]],
        "attrs": {"mxnet_version": ["int", 10901]},
        **fields,
    }
    return json.dumps({key: value for key, value in graph.items() if value is not None})
