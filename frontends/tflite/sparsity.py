"""Constants that are stored packed or sparsely.

Source: FormatConverter::SparseToDense of TFLite's
kernels/internal/utils/sparsity_format_converter.cc.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt
import tflite

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import Table
from qnn_ops.arrays import Array

Bytes = npt.NDArray[np.uint8]

BITS = {"int4": 4, "int2": 2}
"""The bits of the packed types."""


def packed_size(dtype: str, count: int) -> int:
    """Return the number of bytes that packed numbers take."""
    return -(-count * BITS[dtype] // 8)


def unpack(packed: Bytes, dtype: str, count: int) -> npt.NDArray[np.int8]:
    """Return numbers as int8.

    Args:
        packed: uint8 of rank 1, of ``packed_size`` bytes.
        dtype: the packed type.
        count: of the numbers.
    """
    bits = BITS[dtype]
    # Each number's bits move to the upper end of a byte. An arithmetic shift then extends the sign.
    ends = np.array(range(8 - bits, -1, -bits), np.uint8)
    parts = (packed[:, None] << ends).reshape(-1)[:count]
    return parts.view(np.int8) >> (8 - bits)


def pack(numbers: npt.NDArray[np.int8], dtype: str) -> Bytes:
    """Do the reverse of ``unpack``, for an array of any shape."""
    bits = BITS[dtype]
    parts = numbers.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    parts = np.pad(parts, (0, -len(parts) % (8 // bits))).reshape(-1, 8 // bits)
    shifts = np.array(range(0, 8, bits), np.uint8)
    return np.asarray(np.bitwise_or.reduce(parts << shifts, axis=1), np.uint8)


_DENSE, _SPARSE = 0, 1
# Without these limits a small file could ask for any amount of memory.
_MOST_BYTES, _MOST_PER_BYTE = 1 << 26, 64
_FEW = 1 << 12
_VECTORS = {
    1: (tflite.Int32Vector, "int32"),
    2: (tflite.Uint16Vector, "uint16"),
    3: (tflite.Uint8Vector, "uint8"),
}


@dataclass(frozen=True)
class Level:
    """One of the nested loops that define the order of stored values.

    Attributes:
        size: its number of iterations; without meaning for a sparse level.
        segments: for each iteration of the loops around it the position where its indices begin,
            and after the last one the position where they end; None if it is dense.
        indices: the indices of the stored elements.
    """

    size: int
    segments: Array | None = None
    indices: Array | None = None


@dataclass(frozen=True)
class Sparsity:
    """The order of stored values.

    Attributes:
        order: the axis of each level; numbers from the rank on are axes within blocks.
        blocks: the axes that have blocks.
        levels: the levels, from the outermost.
    """

    order: tuple[int, ...]
    blocks: tuple[int, ...]
    levels: tuple[Level, ...]


def read_sparsity(table: Table) -> Sparsity:
    """Read the order of a tensor's values.

    Raises:
        ModelFormatError: a level is neither dense nor sparse, or has no indices.
    """
    levels = []
    for each in table.tables("DimMetadata", f"{table.where}: sparse level"):
        kind, size = int(each.scalar("Format")), int(each.scalar("DenseSize"))
        if kind not in (_DENSE, _SPARSE):
            raise each.error(f"format is {kind}, needs 0 or 1")
        if kind == _DENSE:
            levels.append(Level(size))
        else:
            levels.append(Level(size, _numbers(each, "Segments"), _numbers(each, "Indices")))
    order, blocks = table.integers("TraversalOrder"), table.integers("BlockMap")
    return Sparsity(order, blocks, tuple(levels))


def _numbers(level: Table, field: str) -> Array:
    kind = int(level.scalar(f"Array{field}Type"))
    if kind not in _VECTORS:
        raise level.error(f"has no {field.lower()}")
    accessor, dtype = _VECTORS[kind]
    vector = level.union(f"Array{field}", accessor, level.where)
    values = np.zeros(0) if vector is None else vector.vector("Values", dtype)
    return values.astype(np.int64)


def densified(values: Array, sparsity: Sparsity, shape: Sequence[int], where: str) -> Array:
    """Return the whole tensor.

    Args:
        values: the stored values, of rank 1.
        sparsity: their order.
        shape: of the tensor.
        where: the tensor, for errors.

    Raises:
        ModelFormatError: the order does not fit the shape or the values.
    """
    rank, order = len(shape), sparsity.order
    sizes = _block_sizes(sparsity, shape, where)
    if sorted(order) != list(range(rank + len(sizes))) or len(sparsity.levels) != len(order):
        raise ModelFormatError(f"{where}: sparse levels {order} do not fit shape {tuple(shape)}")
    if any(order[index] >= rank for index in range(rank)):
        raise ModelFormatError(f"{where}: sparse levels {order} begin with those of blocks")
    if prod(shape) * values.itemsize > max(_MOST_BYTES, _MOST_PER_BYTE * values.nbytes):
        raise ModelFormatError(f"{where}: stores {len(values)} values of shape {tuple(shape)}")
    # Each dense element is stored, or a level inside it has segments.
    known = [
        len(values),
        *(0 if each.segments is None else len(each.segments) for each in sparsity.levels),
    ]
    most = min(prod(shape), max(known) + _FEW)
    levels: list[Array] = []
    count = 1
    for level in sparsity.levels:
        indices, parents = _indices(level, count, most, where)
        levels = [*(each[parents] for each in levels), indices]
        count = len(indices)
    if count != len(values):
        raise ModelFormatError(f"{where}: stores {len(values)} sparse values, needs {count}")
    if not rank:
        return values.reshape(())
    axes = [np.zeros(count, np.int64)] * rank
    for axis, indices in zip(order, levels, strict=True):
        if axis < rank:
            axes[axis] = indices
        else:
            block = axis - rank
            axes[sparsity.blocks[block]] = axes[sparsity.blocks[block]] * sizes[block] + indices
    for axis, indices in enumerate(axes):
        if count and not 0 <= indices.min() <= indices.max() < shape[axis]:
            raise ModelFormatError(f"{where}: a sparse value lies outside axis {axis}")
    dense = np.zeros(tuple(shape), values.dtype)
    dense[tuple(axes)] = values
    return dense


def _block_sizes(sparsity: Sparsity, shape: Sequence[int], where: str) -> list[int]:
    rank = len(shape)
    sizes = []
    for block, axis in enumerate(sparsity.blocks):
        index = sparsity.order.index(rank + block) if rank + block in sparsity.order else -1
        if not 0 <= axis < rank or not 0 <= index < len(sparsity.levels):
            raise ModelFormatError(f"{where}: blocks of axis {axis} have no level")
        sizes.append(sparsity.levels[index].size)
    return sizes


def _indices(level: Level, count: int, most: int, where: str) -> tuple[Array, Array]:
    """Return the indices of a level, and the outer iteration of each."""
    if level.segments is None or level.indices is None:
        if level.size < 0 or count * level.size > most:
            raise ModelFormatError(f"{where}: a dense level has {level.size} indices")
        return np.tile(np.arange(level.size), count), np.repeat(np.arange(count), level.size)
    ends = level.segments
    if len(ends) != count + 1 or ends[0] != 0 or ends[-1] != len(level.indices):
        raise ModelFormatError(f"{where}: sparse segments do not fit {len(level.indices)} indices")
    steps = np.diff(ends)
    if (steps < 0).any() or len(level.indices) > most:
        raise ModelFormatError(f"{where}: sparse segments overlap")
    return level.indices, np.repeat(np.arange(count), steps)
