"""Loops over rows of bytes, a vector at a time, and transposes of squares of vectors."""

from __future__ import annotations

from collections.abc import Callable

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Buffer, Index, Vector, kept, lanes_in, unsigned_min


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


BYTES = 64
"""Bytes in an AVX512 register."""


def pieces(length: int, size: int = BYTES) -> tuple[int, list[tuple[int, int]]]:
    """Cut a row into whole vectors of ``size`` bytes, and (offset, width) pieces for the rest.

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


def for_each_piece(
    length: int,
    body: Callable[[Index, int], None],
    size: int = BYTES,
    extent: Callable[[int], Index] = int,
) -> None:
    """Write the loop over a row of ``length`` bytes.

    Args:
        length: the row's length.
        body: writes the code for ``width`` bytes from an offset; it may visit some bytes twice.
        size: bytes in a vector.
        extent: makes the loop's extent, as ``rolled`` does.
    """
    whole, parts = pieces(length, size)
    if not whole:
        for offset, width in parts:
            body(offset, width)
        return
    with T.serial(extent(whole + len(parts))) as i:
        body(unsigned_min(i * size, length - size) if parts else i * size, size)


def fill(
    target: Buffer,
    start: Index,
    length: int,
    number: int,
    extent: Callable[[int], Index] = int,
) -> None:
    """Write the loop that fills a part of a row; see ``for_each_piece``."""
    value = getattr(T, target.dtype)(number)

    def body(offset: Index, width: int) -> None:
        piece = T.broadcast(value, width) if width > 1 else value
        T.buffer_store(target, piece, [ramp(start + offset, width)])

    for_each_piece(length, body, extent=extent)


def ramp(start: Index, width: int) -> Index:
    """Return the index of ``width`` neighbouring bytes."""
    return start if width == 1 else T.ramp(start, 1, width)


def splat(value: int, width: int) -> Vector:
    """Return a byte, ``width`` times."""
    return T.uint8(value) if width == 1 else T.broadcast(T.uint8(value), width)


def unsigned(value: Vector, width: int) -> Vector:
    """Return the same bits as uint8."""
    return T.reinterpret("uint8" if width == 1 else f"uint8x{width}", value)
