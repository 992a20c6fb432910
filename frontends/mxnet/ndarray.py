"""Reads one array of an MXNet parameter file, in each of the forms that MXNet has written.

All of them are little endian::

    V3, V2:  u32 magic, i32 storage, [shape of the stored part, if sparse], shape, device,
             i32 type, [i32 type, shape of each index array, if sparse], elements, [indices]
    V1:      u32 magic, shape, device, i32 type, elements
    legacy:  u32 rank, u32 dimensions, device, i32 type, elements

where a shape is an i32 rank and i64 dimensions, and a device two i32. V3 is written with numpy's
meaning of shapes: rank 0 is a scalar there, and elsewhere an array without shape, behind which
nothing stands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frontends.mxnet.cursor import MAX_RANK, Cursor
from frontends.mxnet.sparse import expand

Array = np.ndarray[Any, Any]

_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
SMALLEST_ARRAY = 4  # bytes: a legacy one of rank 0

_UNDEFINED, _DENSE, _ROW_SPARSE, _CSR = -1, 0, 1, 2
_INDEX_ARRAYS = {_UNDEFINED: 0, _DENSE: 0, _ROW_SPARSE: 1, _CSR: 2}

_MAX_ELEMENTS = 2**60

_BFLOAT16 = 12
_TYPES: dict[int, np.dtype[Any]] = {
    flag: np.dtype(name)
    for flag, name in {
        0: "<f4",
        1: "<f8",
        2: "<f2",
        3: "u1",
        4: "<i4",
        5: "i1",
        6: "<i8",
        7: "?",
        8: "<i2",
        9: "<u2",
        10: "<u4",
        11: "<u8",
        _BFLOAT16: "<u2",
    }.items()
}


def read_array(cursor: Cursor, what: str) -> Array | None:
    """Read the array at the cursor.

    Args:
        cursor: stands at the array, and behind it afterwards.
        what: how errors name the array.

    Returns:
        The array, expanded if it is sparse, in float32 if it is of bfloat16; None if it has no
        shape.

    Raises:
        MXNetFormatError: the array is damaged or does not fit into the file.
    """
    start = cursor.position
    (magic,) = cursor.numbers("I", what)
    if magic in (_V2, _V3):
        return _read_stored(cursor, what, scalars=magic == _V3)
    if magic == _V1:
        shape = _shape(cursor, what)
    elif magic <= MAX_RANK:
        shape = cursor.numbers(f"{magic}I", what)
    else:
        raise cursor.error(start, f"{what} begins with {magic:#x}, which no array does")
    if not shape:
        return None
    cursor.numbers("ii", what)  # the device it was on
    flag = _type(cursor, what)
    return _elements(cursor, shape, flag, what)


def widen_bfloat16(bits: Array) -> Array:
    """Turn bfloat16 numbers, given as uint16, into float32; each is exactly the same number."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _read_stored(cursor: Cursor, what: str, scalars: bool) -> Array | None:
    start = cursor.position
    (storage,) = cursor.numbers("i", what)
    if storage not in _INDEX_ARRAYS:
        raise cursor.error(start, f"{what} has storage type {storage}, needs -1 to 2")
    if _INDEX_ARRAYS[storage]:
        # Of a new sparse array MXNet saves a stale one; the shapes of the indices tell it, too.
        _shape(cursor, what)
    shape = _shape(cursor, what)
    if shape is None or (not shape and not scalars) or -1 in shape:
        return None
    cursor.numbers("ii", what)  # the device it was on
    flag = _type(cursor, what)
    if not _INDEX_ARRAYS[storage]:
        return _elements(cursor, shape, flag, what)
    return _read_sparse(cursor, storage, shape, flag, what)


def _read_sparse(
    cursor: Cursor, storage: int, shape: tuple[int, ...], flag: int, what: str
) -> Array:
    offset = cursor.position
    layouts: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(_INDEX_ARRAYS[storage]):
        index_flag = _type(cursor, what)
        length = _shape(cursor, what)
        if length is None or len(length) != 1:
            raise cursor.error(offset, f"{what} is sparse, but its indices are no lists")
        layouts.append((index_flag, length))
    count = layouts[-1][1][0]
    values = _elements(cursor, (count, *(shape[1:] if storage == _ROW_SPARSE else ())), flag, what)
    indices = [_elements(cursor, length, index_flag, what) for index_flag, length in layouts]
    return expand(cursor, offset, what, shape, values, indices)


def _elements(cursor: Cursor, shape: tuple[int, ...], flag: int, what: str) -> Array:
    # numpy multiplies the other dimensions even where one is 0.
    if any(size < 0 for size in shape) or math.prod(size or 1 for size in shape) >= _MAX_ELEMENTS:
        raise cursor.error(cursor.position, f"{what} is of shape {shape}, which no array has")
    array = cursor.array(shape, _TYPES[flag], what)
    return widen_bfloat16(array) if flag == _BFLOAT16 else array


def _shape(cursor: Cursor, what: str) -> tuple[int, ...] | None:
    """Return a shape; None if it is unknown."""
    start = cursor.position
    (rank,) = cursor.numbers("i", what)
    if rank > MAX_RANK:
        raise cursor.error(start, f"{what} has rank {rank}, needs at most {MAX_RANK}")
    return None if rank < 0 else cursor.numbers(f"{rank}q", what)


def _type(cursor: Cursor, what: str) -> int:
    start = cursor.position
    (flag,) = cursor.numbers("i", what)
    if flag not in _TYPES:
        raise cursor.error(start, f"{what} has type {flag}, needs 0 to {max(_TYPES)}")
    return flag
