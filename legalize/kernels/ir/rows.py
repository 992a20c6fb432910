"""Loops over rows of elements, a vector at a time; copies, offsets and transposes of rows."""

from collections.abc import Callable, Sequence

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.places import rolled
from legalize.kernels.ir.tasks import shared_loop
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    kept,
    lanes_in,
    splat,
    unsigned_min,
    vector_of,
)


def columns_of(rows: list[Vector]) -> list[Vector]:
    """Transpose n vectors of n lanes, a power of two.

    Each step interleaves vectors n / 2 apart.
    """
    side = len(rows)
    half = side // 2
    for _ in range(half.bit_length()):
        rows = [
            kept(T.Shuffle([rows[i], rows[i + half]], _interleaved(part * half, side)))
            for i in range(half)
            for part in (0, 1)
        ]
    return rows


def _interleaved(first: int, side: int) -> list[int]:
    return [place for i in range(first, first + side // 2) for place in (i, i + side)]


def of_neighbours(
    operation: Callable[[Vector, Vector], Vector], vectors: list[Vector], count: int
) -> Vector:
    """Combine neighbouring lanes of consecutive vectors until ``count`` are left."""

    def combined(pair: list[Vector]) -> Vector:
        lanes = len(pair) * lanes_in(pair[0])
        even, odd = (T.Shuffle(pair, list(range(first, lanes, 2))) for first in (0, 1))
        return kept(operation(even, odd))

    while len(vectors) * lanes_in(vectors[0]) > count:
        vectors = [combined(vectors[i : i + 2]) for i in range(0, len(vectors), 2)]
    return T.Shuffle(vectors, list(range(count)))


BYTES = 64
"""Bytes in an AVX512 register."""


def pieces(length: int, size: int = BYTES) -> tuple[int, list[tuple[int, int]]]:
    """Cut a row into whole vectors of ``size`` elements, and (offset, width) pieces for the rest.

    A rest after a whole vector is one vector that overlaps it.
    """
    whole, rest = divmod(length, size)
    if not rest:
        return whole, []
    if whole:
        return whole, [(length - size, size)]
    return whole, powers_of_two(length)


def powers_of_two(length: int) -> list[tuple[int, int]]:
    """Cut a length into powers of two, the largest first: (offset, width)."""
    parts = []
    offset = 0
    while offset < length:
        width = 1 << ((length - offset).bit_length() - 1)
        parts.append((offset, width))
        offset += width
    return parts


def load_filled(buffer: Buffer, start: Index, count: int, size: int) -> Vector:
    """Load ``size`` neighbours; if ``count`` is less, load ``count`` and repeat them."""
    if count >= size:
        return buffer[T.ramp(start, 1, size)]
    parts = [buffer[ramp(start + offset, width)] for offset, width in powers_of_two(count)]
    return T.Shuffle(parts * -(-size // count), list(range(size)))


def store_lanes(target: Buffer, value: Vector, first: int, start: Index, count: int) -> None:
    """Store some lanes of a vector, from the ``first`` one on, in powers of two."""
    for offset, width in powers_of_two(count):
        places = list(range(first + offset, first + offset + width))
        part = value if width == lanes_in(value) else T.Shuffle([value], places)
        T.buffer_store(target, part, [ramp(start + offset, width)])


def has_masks(lanes: int) -> bool:
    """Tell whether vectors of so many int32 are AVX512's: it loads and stores parts of a vector."""
    return lanes == 16


def load_first(buffer: Buffer, start: Index, count: int, size: int) -> Vector:
    """Load ``count`` neighbours into the first of ``size`` lanes, by a mask of AVX512."""
    dtype = vector_of(str(buffer.dtype), size)
    return T.masked_load(dtype, buffer, T.ramp(start, 1, size), _first(count, size))


def store_first(target: Buffer, value: Vector, start: Index, count: Index) -> None:
    """Store the first ``count`` lanes of a vector, by a mask of AVX512."""
    size = lanes_in(value)
    T.evaluate(T.masked_store(target, value, T.ramp(start, 1, size), _first(count, size)))


def _first(count: Index, size: int) -> Vector:
    if not isinstance(count, int):
        # A comparison of bytes takes one instruction for up to 64 lanes; int32 would take four.
        number = T.Cast("uint8", T.min(count, size))
        return T.ramp(T.uint8(0), T.uint8(1), size) < T.broadcast(number, size)
    return T.ramp(0, 1, size) < T.broadcast(T.int32(count), size)


def for_each_piece(
    length: Index,
    body: Callable[[Index, int], None],
    size: int = BYTES,
    *,
    is_rolled: bool = False,
    tasks: int = 1,
) -> None:
    """Write the loop over a row.

    Args:
        length: the row's length, a number or a variable.
        body: writes the code for ``width`` elements from an offset; it may visit some twice.
        size: elements of a whole piece, such as the bytes in a vector.
        is_rolled: whether LLVM may unroll the loop only in part: see ``rolled``.
        tasks: how many tasks share the row, from ``task_count``. Two of them may visit the same
            elements.
    """
    if not isinstance(length, int):
        with T.If(length >= size):
            with T.Then(), T.serial(T.truncdiv(length + (size - 1), size)) as number:
                body(kept(T.min(number * size, length - size)), size)
            with T.Else(), T.serial(length) as each:
                body(each, 1)
        return
    whole, parts = pieces(length, size)
    if not whole:
        for offset, width in parts:
            body(offset, width)
        return

    def piece(i: Index) -> None:
        offset = unsigned_min(i * size, length - size) if parts else i * size
        body(offset, size)

    extent = whole + len(parts)
    shared_loop(tasks, rolled(extent) if is_rolled else extent, piece)


def fill(target: Buffer, start: Index, length: int, number: int) -> None:
    """Write the loop that fills a part of a row; see ``for_each_piece``."""

    def body(offset: Index, width: int) -> None:
        value = splat(str(target.dtype), number, width)
        T.buffer_store(target, value, [ramp(start + offset, width)])

    for_each_piece(length, body)


def copy(
    target: Buffer, start: Index, source: Buffer, first: Index, length: int, size: int = BYTES
) -> None:
    """Write the loop that copies a part of a row; see ``for_each_piece``."""

    def body(offset: Index, width: int) -> None:
        value = source[ramp(first + offset, width)]
        T.buffer_store(target, value, [ramp(start + offset, width)])

    for_each_piece(length, body, size)


def merged(extents: Sequence[int], *strides: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the fewest loops over the axes of some tensors.

    Neighbouring axes are merged if all tensors are contiguous there. Axes of size 1 are dropped.

    Args:
        extents: the sizes of the axes.
        strides: each tensor's stride along each axis.

    Returns:
        For each loop its extent, and each tensor's stride.
    """
    loops: list[tuple[int, ...]] = []
    for extent, *own in zip(extents, *strides, strict=True):
        if loops and list(loops[-1][1:]) == [stride * extent for stride in own]:
            loops[-1] = loops[-1][0] * extent, *own
        elif extent > 1:
            loops.append((extent, *own))
    return loops


def offset_of(number: Index, extents: Sequence[Index], strides: Sequence[Index]) -> Index:
    """Return the offset of a row's elements in a tensor that broadcasts.

    Args:
        number: the row's number.
        extents: the sizes of the axes that rows are counted along.
        strides: the tensor's strides along them; 0 where it broadcasts.
    """
    place: Index = 0
    for axis in reversed(range(len(extents))):
        along = T.truncmod(number, extents[axis]) if axis else number
        # A stride may be a variable, which does not compare with numbers.
        if not isinstance(strides[axis], int) or strides[axis]:
            place = place + along * strides[axis]
        number = T.truncdiv(number, extents[axis]) if axis else number
    return place


def ramp(start: Index, width: int) -> Index:
    """Return the index of ``width`` neighbouring elements."""
    return start if width == 1 else T.ramp(start, 1, width)


def unsigned(value: Vector, width: int) -> Vector:
    """Return the same bits as uint8."""
    return T.reinterpret(vector_of("uint8", width), value)
