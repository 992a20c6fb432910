"""Interleaves vectors of bytes by quarters of 16 bytes, as x86 does, and multiplies them.

The 16 bytes of a quarter of a vector of 64 are independent of the others: the same code serves
vectors of 32 and 16 bytes.
"""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Vector, instruction, kept
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.isa.x86_instructions import add_pairs, dot_bytes

_QUARTER = 16


def interleave_bytes(rows: list[Vector], size: int) -> list[Vector]:
    """Interleave four vectors of bytes.

    Args:
        rows: four vectors a, b, c, d, uint8x(size).
        size: 16, 32 or 64.

    Returns:
        Four vectors, uint8x(size): quarter j of vector i holds a, b, c, d at position
        16·j + 4·i, then at the next one, to 16·j + 4·i + 3.
    """
    a, b, c, d = rows
    halves = [
        (kept(_unpack(a, b, size, half, 1)), kept(_unpack(c, d, size, half, 1))) for half in (0, 1)
    ]
    return [_unpack(*pair, size, half, 2) for pair in halves for half in (0, 1)]


def interleave_words(rows: list[Vector], size: int) -> list[Vector]:
    """Interleave two vectors of bytes, each byte extended by a byte of zero.

    Args:
        rows: two vectors a, b, uint8x(size).
        size: 16, 32 or 64.

    Returns:
        Four vectors, uint8x(size): quarter j of vector i holds a, 0, b, 0 at position
        16·j + 4·i, then at the next one, to 16·j + 4·i + 3.
    """
    a, b = rows
    zeros = T.broadcast(T.uint8(0), size)
    pairs = [kept(_unpack(a, b, size, half, 1)) for half in (0, 1)]
    return [_unpack(pair, zeros, size, half, 1) for pair in pairs for half in (0, 1)]


def _unpack(a: Vector, b: Vector, size: int, half: int, element: int) -> Vector:
    """Interleave elements of ``element`` bytes of a and b (vpunpckl or vpunpckh)."""
    order = [
        source * size + quarter * _QUARTER + half * _QUARTER // 2 + position * element + byte
        for quarter in range(size // _QUARTER)
        for position in range(_QUARTER // 2 // element)
        for source in (0, 1)
        for byte in range(element)
    ]
    return T.Shuffle([a, b], order)


def add_products(isa: Isa, accumulator: Vector, cells: Vector, weights: Vector) -> Vector:
    """Add to each int32 lane the products of its cell's values and weights.

    Args:
        isa: the instruction set.
        accumulator: int32 vector.
        cells: uint8 vector, four bytes in each lane.
        weights: int8 vector if ``isa`` has byte products and cells hold bytes; otherwise int16.
    """
    if weights.ty.dtype.bits == 8:
        return dot_bytes(accumulator, cells, weights, isa.lanes)
    words = T.reinterpret(f"int16x{2 * isa.lanes}", cells)
    if not isa.has_byte_products:
        return accumulator + add_pairs(words, weights)
    name = f"llvm.x86.avx512.vpdpwssd.{32 * isa.lanes}"
    return instruction(f"int32x{isa.lanes}", name, accumulator, words, weights)
