"""Interleaves vectors of bytes by quarters of 16 bytes, as x86 does, and multiplies them.

The 16 bytes of a quarter of a vector of 64 are independent of the others: the same code serves
vectors of 32 and 16 bytes.
"""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Vector, instruction, kept, lanes_in
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.isa.x86_instructions import add_pairs, dot_bytes, unpack


def interleave(rows: list[Vector]) -> list[Vector]:
    """Interleave four vectors of bytes; or two, each byte extended by a byte of zero.

    Args:
        rows: vectors a, b, c, d of uint8, or a and b.

    Returns:
        Four vectors of uint8: quarter j of vector i holds a, b, c, d at position 16·j + 4·i, then
        at the next one, to 16·j + 4·i + 3. With two vectors, it holds a, 0, b, 0.
    """
    a, b, *others = rows
    if not others:
        zeros = T.broadcast(T.uint8(0), lanes_in(a))
        pairs = [kept(unpack(a, b, half, 1)) for half in (0, 1)]
        return [unpack(pair, zeros, half, 1) for pair in pairs for half in (0, 1)]
    c, d = others
    halves = [(kept(unpack(a, b, half, 1)), kept(unpack(c, d, half, 1))) for half in (0, 1)]
    return [unpack(*pair, half, 2) for pair in halves for half in (0, 1)]


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
