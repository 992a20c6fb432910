"""Reads MXNet's parameter files: the list of arrays of 0.x and 1.x, and the zip of 2.x.

In pure numpy; sizes are checked against the file before anything of that size is made. A list of
arrays is, in little endian: u64 0x112, u64 0, u64 count, the arrays, u64 count (or 0), the names,
each a u64 length and its bytes. `frontends.mxnet.ndarray` knows what an array is,
`frontends.mxnet.archive` the zip.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from frontends.mxnet.archive import read_archive
from frontends.mxnet.cursor import Cursor
from frontends.mxnet.errors import MXNetFormatError
from frontends.mxnet.ndarray import SMALLEST_ARRAY, read_array

Array = np.ndarray[Any, Any]

_LIST_MAGIC = 0x112
_ZIP_MAGIC = b"PK"
_LENGTH_SIZE = 8  # of a name: the u64 before it


def read_params(
    params: str | os.PathLike[str] | bytes | bytearray | memoryview,
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Read a parameter file.

    Args:
        params: the file's path or its bytes.

    Returns:
        Arguments and auxiliary states, each by name without the prefix ``arg:`` or ``aux:``. Names
        without a prefix, as Gluon's `save_parameters` writes them, count as arguments; arrays
        without names are called "0", "1", and so on. Sparse arrays are expanded, bfloat16 is
        widened to float32, and arrays that were never given a shape are left out.

    Raises:
        MXNetFormatError: the file is no parameter file, or a damaged one; the message names the
            byte.
        OSError: the path cannot be read.
    """
    cursor = _open(params)
    is_zip = bytes(cursor.data[: len(_ZIP_MAGIC)]) == _ZIP_MAGIC
    items = read_archive(cursor) if is_zip else _read_list(cursor)
    arguments: dict[str, Array] = {}
    states: dict[str, Array] = {}
    for key, array in items:
        kind, _, name = key.partition(":")
        if kind == "aux" and name:
            states[name] = array
        else:
            arguments[name if kind == "arg" and name else key] = array
    return arguments, states


def _open(params: Any) -> Cursor:
    if isinstance(params, str | os.PathLike):
        return Cursor(os.fspath(params), memoryview(Path(params).read_bytes()))
    if isinstance(params, bytes | bytearray | memoryview):
        return Cursor("params", memoryview(bytes(params)))
    raise MXNetFormatError(f"params: got {type(params).__name__}, needs a path or bytes")


def _read_list(cursor: Cursor) -> list[tuple[str, Array]]:
    (magic,) = cursor.numbers("Q", "the magic number")
    if magic != _LIST_MAGIC:
        raise cursor.error(0, f"begins with {magic:#x}, MXNet's lists of arrays with 0x112")
    cursor.numbers("Q", "the reserved number")
    arrays = [
        read_array(cursor, f"array {index}")
        for index in range(cursor.count(SMALLEST_ARRAY, "the arrays"))
    ]
    start = cursor.position
    names = [_name(cursor, index) for index in range(cursor.count(_LENGTH_SIZE, "the names"))]
    if names and len(names) != len(arrays):
        raise cursor.error(start, f"there are {len(arrays)} arrays, but {len(names)} names")
    if len(set(names)) != len(names):
        raise cursor.error(start, "two arrays have the same name")
    if cursor.left:
        raise cursor.error(cursor.position, f"{cursor.left} bytes are left behind the names")
    names = names or [str(index) for index in range(len(arrays))]
    return [(name, array) for name, array in zip(names, arrays, strict=True) if array is not None]


def _name(cursor: Cursor, index: int) -> str:
    what = f"name {index}"
    (length,) = cursor.numbers("Q", what)
    start = cursor.position
    try:
        return bytes(cursor.take(length, what)).decode("utf-8")
    except UnicodeDecodeError:
        raise cursor.error(start, f"{what} is not UTF-8 text") from None
