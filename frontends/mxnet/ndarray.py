"""Reads one array of an MXNet parameter file, in all forms that MXNet has written.

All forms are little endian::

    V3, V2:  u32 magic, i32 storage, [shape of the stored part, if sparse], shape, device,
             i32 type, [i32 type, shape of each index array, if sparse], elements, [indices]
    V1:      u32 magic, shape, device, i32 type, elements
    legacy:  u32 rank, u32 dimensions, device, i32 type, elements

where a shape is an i32 rank and i64 dimensions, and a device two i32. V3 is written with numpy's
meaning of shapes, where rank 0 is a scalar. Elsewhere rank 0 is an array without shape, and nothing
follows it.
"""

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.mxnet.errors import MXNetFormatError, format_error
from qnn_ops.arrays import Array

# The bytes to which sparse and compressed arrays may grow, and the bytes for each byte of the file.
# A sparse matrix with one element in a hundred grows thirtyfold. Files that need more are made to
# fill the memory.
_FREE_GROWTH = 1 << 24
_GROWTH = 64

MAX_RANK = 32  # of a numpy array, before numpy 2


class Cursor:
    """Reads a file from its beginning to its end.

    Args:
        source: the file's name in messages.
        data: its bytes.

    Attributes:
        source: the same.
        data: the same.
        position: the next byte to read.
        what: the part of the file that is being read, for errors.
    """

    def __init__(self, source: str, data: memoryview) -> None:
        self.source, self.data = source, data
        self.position, self.what = 0, ""
        self._growth = _FREE_GROWTH + _GROWTH * len(data)

    @property
    def left(self) -> int:
        """The number of unread bytes."""
        return len(self.data) - self.position

    def error(self, offset: int, problem: str) -> MXNetFormatError:
        """Return an error about a byte of the file."""
        return format_error(self.source, offset, problem)

    def fault(self, offset: int, problem: str) -> MXNetFormatError:
        """Return an error about the part of the file that is being read."""
        return self.error(offset, f"{self.what} {problem}")

    def take(self, size: int) -> memoryview:
        """Return the next bytes.

        Raises:
            MXNetFormatError: the file has fewer bytes.
        """
        start = self.position
        if not 0 <= size <= self.left:
            raise self.fault(start, f"needs {size} bytes, but the file ends after {self.left}")
        self.position += size
        return self.data[start : self.position]

    def numbers(self, layout: str) -> tuple[int, ...]:
        """Return the next little-endian numbers, by the letters of `struct`."""
        layout = f"<{layout}"
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def count(self, item_size: int, what: str) -> int:
        """Return the next u64, a count of items of at least ``item_size`` bytes."""
        start, self.what = self.position, f"the number of {what}"
        (count,) = self.numbers("Q")
        if count * item_size > self.left:
            problem = f"are {count}, more than fit into the {self.left} bytes behind"
            raise self.error(start, f"the {what} {problem}")
        return count

    def array(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Return the next array, copied; its elements are contiguous."""
        data = self.take(math.prod(shape) * dtype.itemsize)
        return np.frombuffer(data, dtype).reshape(shape).copy()

    def grow(self, size: int, offset: int) -> None:
        """Account for bytes in memory that are not in the file.

        Args:
            size: the number of bytes.
            offset: where in the file they come from.

        Raises:
            MXNetFormatError: they are too many for a file of this size.
        """
        self._growth -= size
        if self._growth < 0:
            problem = f"unpacks to {size} bytes, too many for a file of {len(self.data)}"
            raise self.fault(offset, problem)


def expand(
    cursor: Cursor, offset: int, shape: tuple[int, ...], values: Array, indices: Sequence[Array]
) -> Array:
    """Expand a sparse array to a dense one.

    Args:
        cursor: the file, which limits the growth of arrays.
        offset: the offset of the array in the file.
        shape: the dense shape.
        values: the stored elements; whole slices along axis 0, or a list of single ones.
        indices: for row_sparse, the indices of the slices; for csr, where each row begins among
            the values, followed by their count, and the column of each value.

    Returns:
        The array, with 0 for elements that are not stored.

    Raises:
        MXNetFormatError: values and indices do not describe an array of this shape, or the array is
            too large for a file of this size.
    """
    problem = _problem(shape, values, indices)
    if problem:
        raise cursor.fault(offset, f"is sparse, but {problem}")
    cursor.grow(math.prod(shape) * values.itemsize, offset)
    dense = np.zeros(shape, values.dtype)
    if len(indices) == 1:
        dense[indices[0].astype(np.int64)] = values
    else:
        starts, columns = (array.astype(np.int64) for array in indices)
        dense[np.repeat(np.arange(shape[0]), np.diff(starts)), columns] = values
    return dense


def _problem(shape: tuple[int, ...], values: Array, indices: Sequence[Array]) -> str | None:
    """Describe the error of a sparse array, if it has one."""
    if any(array.ndim != 1 or array.dtype.kind not in "iu" for array in indices):
        return "its indices are no lists of integers"
    if any(size < 0 for size in shape):
        return f"of shape {shape}"
    selected = indices[-1]
    stored = (selected.size, *(shape[1:] if len(indices) == 1 else ()))
    if not shape or (len(indices) == 2 and len(shape) != 2) or values.shape != stored:
        return f"of shape {shape}, with values of shape {values.shape} at {selected.size} indices"
    limit = shape[len(indices) - 1]
    if selected.size and not (int(selected.min()) >= 0 and int(selected.max()) < limit):
        return f"its indices are {selected.min()} to {selected.max()}, need 0 to {limit - 1}"
    if len(indices) == 2:
        starts = indices[0]
        ends = [int(start) for start in (*starts[:1], *starts[-1:])]
        if starts.size != shape[0] + 1 or ends != [0, selected.size]:
            return f"the starts of its rows do not divide {selected.size} values"
        if (starts[1:] < starts[:-1]).any():
            return "the starts of its rows do not ascend"
    return None


_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
SMALLEST_ARRAY = 4  # bytes: a legacy one of rank 0

_UNDEFINED, _DENSE, _ROW_SPARSE, _CSR = -1, 0, 1, 2
_INDEX_ARRAYS = {_UNDEFINED: 0, _DENSE: 0, _ROW_SPARSE: 1, _CSR: 2}

_MAX_ELEMENTS = 2**60

_BFLOAT16 = 12
_NAMES = "<f4 <f8 <f2 u1 <i4 i1 <i8 ? <i2 <u2 <u4 <u8 <u2"
_TYPES = {flag: np.dtype(name) for flag, name in enumerate(_NAMES.split())}
"""The types of elements by number; bfloat16, the last one, is read as uint16."""


def read_array(cursor: Cursor) -> Array | None:
    """Read the array at the cursor.

    Args:
        cursor: is at the array, and after it when the function returns.

    Returns:
        The array, expanded if it is sparse, in float32 if it is bfloat16; None if it has no shape.

    Raises:
        MXNetFormatError: the array is damaged or does not fit into the file.
    """
    start = cursor.position
    (magic,) = cursor.numbers("I")
    is_stored, storage = magic in (_V2, _V3), _DENSE
    if magic <= MAX_RANK:
        shape: tuple[int, ...] | None = cursor.numbers(f"{magic}I")
    elif is_stored or magic == _V1:
        storage = _storage(cursor) if is_stored else storage
        shape = _shape(cursor)
    else:
        raise cursor.fault(start, f"begins with {magic:#x}, which no array does")
    if shape is None or (not shape and magic != _V3) or (is_stored and -1 in shape):
        return None
    cursor.numbers("ii")  # the device it was on
    flag = _type(cursor)
    if _INDEX_ARRAYS[storage]:
        return _read_sparse(cursor, storage, shape, flag)
    return _elements(cursor, shape, flag)


def widen_bfloat16(bits: Array) -> Array:
    """Convert bfloat16 numbers, given as uint16, to float32; this is exact."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _storage(cursor: Cursor) -> int:
    """Return the type of storage; the array's shape follows."""
    start = cursor.position
    (storage,) = cursor.numbers("i")
    if storage not in _INDEX_ARRAYS:
        raise cursor.fault(start, f"has storage type {storage}, needs -1 to 2")
    if _INDEX_ARRAYS[storage]:
        # MXNet saves a stale shape of a new sparse array; the shapes of the indices give it, too.
        _shape(cursor)
    return int(storage)


def _read_sparse(cursor: Cursor, storage: int, shape: tuple[int, ...], flag: int) -> Array:
    offset = cursor.position
    layouts: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(_INDEX_ARRAYS[storage]):
        index_flag = _type(cursor)
        length = _shape(cursor)
        if length is None or len(length) != 1:
            raise cursor.fault(offset, "is sparse, but its indices are no lists")
        layouts.append((index_flag, length))
    count = layouts[-1][1][0]
    values = _elements(cursor, (count, *(shape[1:] if storage == _ROW_SPARSE else ())), flag)
    indices = [_elements(cursor, length, index_flag) for index_flag, length in layouts]
    return expand(cursor, offset, shape, values, indices)


def _elements(cursor: Cursor, shape: tuple[int, ...], flag: int) -> Array:
    # numpy multiplies the other dimensions even if one is 0.
    if any(size < 0 for size in shape) or math.prod(size or 1 for size in shape) >= _MAX_ELEMENTS:
        raise cursor.fault(cursor.position, f"is of shape {shape}, which no array has")
    array = cursor.array(shape, _TYPES[flag])
    return widen_bfloat16(array) if flag == _BFLOAT16 else array


def _shape(cursor: Cursor) -> tuple[int, ...] | None:
    """Return a shape; None if it is unknown."""
    start = cursor.position
    (rank,) = cursor.numbers("i")
    if rank > MAX_RANK:
        raise cursor.fault(start, f"has rank {rank}, needs at most {MAX_RANK}")
    return None if rank < 0 else cursor.numbers(f"{rank}q")


def _type(cursor: Cursor) -> int:
    start = cursor.position
    (flag,) = cursor.numbers("i")
    if flag not in _TYPES:
        raise cursor.fault(start, f"has type {flag}, needs 0 to {max(_TYPES)}")
    return flag
