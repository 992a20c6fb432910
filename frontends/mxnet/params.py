"""Reads MXNet's parameter files: the list of arrays of 0.x and 1.x, and the zip of 2.x.

It uses only numpy. Sizes are checked against the file before anything of that size is allocated.

A list of arrays is, in little endian: u64 0x112, u64 0, u64 count, the arrays, u64 count (or 0),
the names, each a u64 length and its bytes. `frontends.mxnet.ndarray` describes arrays.

The zip is not read by `numpy.load`, which evaluates headers and decompresses any file. The headers
of numpy and of MXNet have one form, and no array may be larger than the file allows.
Sparse arrays are folders with members `data`, `indices`, `indptr`, `shape` and `format`, as SciPy
writes them.
"""

import io
import math
import os
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from frontends.mxnet.errors import MXNetFormatError
from frontends.mxnet.ndarray import (
    MAX_RANK,
    SMALLEST_ARRAY,
    Cursor,
    expand,
    read_array,
    widen_bfloat16,
)
from qnn_ops.arrays import Array

_MAGIC = b"\x93NUMPY"
_PREAMBLE = 10  # bytes: the magic, the version, and the header's length in version 1
_HEADER = re.compile(
    r"\{'descr': '(?P<dtype>[<|][a-z]\d{1,2})', 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>(?:\d{1,19}, ?)*(?:\d{1,19})?)\),? ?\}\s*"
)
_BFLOAT16 = "<b2"  # MXNet's name for it
_DTYPES = {
    "|b1": "?",
    **{f"|{kind}1": f"{kind}1" for kind in "iu"},
    **{f"<{kind}{size}": f"<{kind}{size}" for kind in "iuf" for size in (2, 4, 8)},
    _BFLOAT16: "<u2",
}

# Stored or deflated; other methods need memory before they tell how much.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

# Exceptions of zipfile for damaged files. A lack of memory is none.
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, NotImplementedError),
    *(OSError, OverflowError, RuntimeError, ValueError),
)

Members = dict[str, zipfile.ZipInfo]  # by the last part of the name, without ".npy"


def read_archive(cursor: Cursor) -> list[tuple[str, Array]]:
    """Read every array of a zip.

    Args:
        cursor: the file, from its beginning.

    Returns:
        The arrays with their names; sparse ones expanded.

    Raises:
        MXNetFormatError: the zip or one of its arrays is damaged, or unpacks to far more than
            the file holds.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(cursor.data))
    except _ZIP_ERRORS as error:
        raise cursor.error(0, f"is no zip of arrays: {error}") from None
    items: list[tuple[str, Array]] = []
    for folder, members in _folders(cursor, archive).items():
        if folder and "format" in members:
            items.append((folder, _read_sparse(cursor, archive, folder, members)))
        else:
            prefix = f"{folder}/" if folder else ""
            items += [
                (prefix + name, _read_member(cursor, archive, info))
                for name, info in members.items()
            ]
    return items


def _folders(cursor: Cursor, archive: zipfile.ZipFile) -> dict[str, Members]:
    folders: dict[str, Members] = {}
    for info in archive.infolist():
        if not info.filename.endswith(".npy"):
            continue
        folder, _, name = info.filename.removesuffix(".npy").rpartition("/")
        members = folders.setdefault(folder, {})
        if name in members:
            raise cursor.error(_offset(info), f"two members are called {info.filename!r}")
        members[name] = info
    return folders


def _offset(info: zipfile.ZipInfo) -> int:
    return max(info.header_offset, 0)  # a damaged directory may point before the file's start


def _unpack(cursor: Cursor, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[str, bytes]:
    """Return a member's header and the data after it."""
    offset, cursor.what = _offset(info), repr(info.filename)
    if info.compress_type not in _METHODS:
        raise cursor.fault(offset, f"is compressed by method {info.compress_type}")
    # This limit also applies to members that are only stored, as members may overlap.
    cursor.grow(info.file_size, offset)
    try:
        content = archive.read(info)
    except _ZIP_ERRORS as error:
        raise cursor.fault(offset, f"cannot be unpacked: {error}") from None
    size_layout = "<H" if content[6:7] == b"\1" else "<I"
    start = _PREAMBLE - 2 + struct.calcsize(size_layout)
    if not content.startswith(_MAGIC) or len(content) < start:
        raise cursor.fault(offset, "is no array of numpy's")
    (size,) = struct.unpack_from(size_layout, content, _PREAMBLE - 2)
    if start + size > len(content):
        raise cursor.fault(offset, "ends within its header")
    return content[start : start + size].decode("latin-1"), content[start + size :]


def _read_member(cursor: Cursor, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    offset = _offset(info)
    header, data = _unpack(cursor, archive, info)
    match = _HEADER.fullmatch(header)
    if match is None or match["dtype"] not in _DTYPES:
        raise cursor.fault(offset, f"has a header that no parameter has: {header[:80]!r}")
    dtype = np.dtype(_DTYPES[match["dtype"]])
    shape = tuple(int(size) for size in re.findall(r"\d+", match["shape"]))
    if len(shape) > MAX_RANK or math.prod(shape) * dtype.itemsize != len(data):
        raise cursor.fault(
            offset, f"is of shape {shape} and type {dtype}, but of {len(data)} bytes"
        )
    array = np.frombuffer(data, dtype)
    array = array.reshape(shape, order="F" if match["fortran"] == "True" else "C")
    array = np.array(array, order="C")
    return widen_bfloat16(array) if match["dtype"] == _BFLOAT16 else array


def _read_sparse(cursor: Cursor, archive: zipfile.ZipFile, folder: str, members: Members) -> Array:
    offset = _offset(members["format"])
    # MXNet writes an invalid header here; numpy writes letters of four bytes.
    kind = _unpack(cursor, archive, members["format"])[1].replace(b"\0", b"").decode("latin-1")
    cursor.what = repr(folder)
    needed = {"csr": ("indptr", "indices"), "row_sparse": ("indices",)}.get(kind)
    if needed is None or {"data", "shape", *needed} - members.keys():
        raise cursor.fault(offset, f"is of format {kind[:20]!r} with the members {sorted(members)}")
    arrays = {
        name: _read_member(cursor, archive, members[name]) for name in ("data", "shape", *needed)
    }
    shape, cursor.what = arrays["shape"], repr(folder)
    if shape.ndim != 1 or shape.dtype.kind not in "iu" or not 0 < shape.size <= MAX_RANK:
        raise cursor.fault(offset, "has no shape")
    sizes, indices = tuple(int(size) for size in shape), [arrays[name] for name in needed]
    return expand(cursor, offset, sizes, arrays["data"], indices)


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
        MXNetFormatError: the file is not a parameter file, or is damaged; the message names the
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
    cursor.what = "the magic number"
    (magic,) = cursor.numbers("Q")
    if magic != _LIST_MAGIC:
        raise cursor.error(0, f"begins with {magic:#x}, MXNet's lists of arrays with 0x112")
    cursor.what = "the reserved number"
    cursor.numbers("Q")
    arrays = []
    for index in range(cursor.count(SMALLEST_ARRAY, "arrays")):
        cursor.what = f"array {index}"
        arrays.append(read_array(cursor))
    start = cursor.position
    names = [_name(cursor, index) for index in range(cursor.count(_LENGTH_SIZE, "names"))]
    if names and len(names) != len(arrays):
        raise cursor.error(start, f"there are {len(arrays)} arrays, but {len(names)} names")
    if len(set(names)) != len(names):
        raise cursor.error(start, "two arrays have the same name")
    if cursor.left:
        raise cursor.error(cursor.position, f"{cursor.left} bytes are left behind the names")
    names = names or [str(index) for index in range(len(arrays))]
    return [(name, array) for name, array in zip(names, arrays, strict=True) if array is not None]


def _name(cursor: Cursor, index: int) -> str:
    cursor.what = f"name {index}"
    (length,) = cursor.numbers("Q")
    start = cursor.position
    try:
        return bytes(cursor.take(length)).decode("utf-8")
    except UnicodeDecodeError:
        raise cursor.fault(start, "is not UTF-8 text") from None
