"""The instructions of Helium, the vectors of Cortex-M55 and M85, that kernels are made of."""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Buffer, Index, Vector

HELIUM = ("mclass", "mve")
"""What LLVM calls the cores that have it."""

SIZE = 16
"""Bytes in a register."""

FOUR = 4
"""int32 in a register."""

VECTOR = "tvm_qnn_vector"
"""A function of a place in memory, aligned to four bytes: the int8x16 there."""

SAME = "tvm_qnn_same"
"""A function of an int32: the same, which LLVM does not know."""

# A volatile load stays where it is. LLVM would read all of a long loop's vectors before the first
# product, and spill them. As words they may be further from a register's address than as bytes.
_VECTOR_IR = f"""
define <16 x i8> @{VECTOR}(ptr %place) {{
  %words = load volatile <4 x i32>, ptr %place, align 4
  %value = bitcast <4 x i32> %words to <16 x i8>
  ret <16 x i8> %value
}}
define i32 @{SAME}(i32 %value) {{
  %same = call i32 asm sideeffect "", "=r,0"(i32 %value)
  ret i32 %same
}}
"""


def reading_vectors() -> Any:
    """Open the part of a function that may call ``vector_of`` and ``unseen_index``."""
    return T.attr("default", "pragma_import_llvm", _VECTOR_IR)


def vector_of(buffer: Buffer, start: Index) -> Vector:
    """Read an int8x16 anew, at a place that is aligned to four bytes."""
    return kept(T.call_extern("int8x16", VECTOR, T.address_of(buffer[start])))


def unseen_index(value: Index) -> Index:
    """Return an int32 as it is, which LLVM takes for another one each time."""
    return kept(T.call_extern("int32", SAME, value))


def dot(lhs: Vector, rhs: Vector, total: Vector) -> Vector:
    """Add the sixteen products of two int8x16 to an int32; to zero in the same instruction."""
    zero = T.int32(0)
    name = "llvm.arm.mve.vmldava.v16i8"
    return T.call_llvm_pure_intrin("int32", name, zero, zero, zero, total, lhs, rhs)


def products(lhs: Vector, rhs: Vector, *, odd: bool) -> Vector:
    """Multiply the even or the odd lanes of two int8x16: int16x8."""
    name = "llvm.arm.mve.vmull.v8i16.v16i8"
    return T.call_llvm_pure_intrin("int16x8", name, lhs, rhs, T.int32(0), T.int32(int(odd)))


def widened(value: Vector, *, odd: bool) -> Vector:
    """Widen the even or the odd lanes of an int16x8 to int32x4."""
    lanes = T.Shuffle([value], [2 * lane + odd for lane in range(FOUR)])
    return T.Cast("int32x4", lanes)


def upper_products(lhs: Vector, rhs: Vector) -> Vector:
    """Return the upper halves of the products of two int32x4."""
    return T.call_llvm_pure_intrin("int32x4", "llvm.arm.mve.vmulh.v4i32", lhs, rhs, T.int32(0))


def lifted(value: Vector, by: Vector) -> Vector:
    """Shift each lane of an int32x4 to the left by its own number of bits."""
    zero = T.int32(0)
    name = "llvm.arm.mve.vshl.vector.v4i32.v4i32"
    return T.call_llvm_pure_intrin("int32x4", name, value, by, zero, zero, zero)


def lifted_saturating(value: Vector, by: int) -> Vector:
    """Shift an int32x4 to the left; what leaves 32 bits saturates."""
    name = "llvm.arm.mve.vqshl.imm.v4i32"
    return T.call_llvm_pure_intrin("int32x4", name, value, T.int32(by), T.int32(0))


def unseen(value: Vector) -> Vector:
    """Return an int8x16 as it is, by an instruction that LLVM does not see through.

    Of a loop that only copies it makes a call of memcpy, which small C libraries do byte by byte.
    """
    same = lifted_saturating(T.reinterpret("int32x4", value), 0)
    return T.reinterpret("int8x16", same)


def narrowed(even: Vector, odd: Vector) -> Vector:
    """Saturate lanes of two vectors to half their bits, and interleave them."""
    zero = T.int32(0)
    bits, name = (16, "v8i16.v4i32") if str(even.ty.dtype) == "int32x4" else (8, "v16i8.v8i16")
    dtype = f"int{bits}x{128 // bits}"
    empty = T.broadcast(getattr(T, f"int{bits}")(0), 128 // bits)
    name = f"llvm.arm.mve.vqmovn.{name}"
    half = kept(T.call_llvm_pure_intrin(dtype, name, empty, even, zero, zero, zero))
    return kept(T.call_llvm_pure_intrin(dtype, name, half, odd, zero, zero, T.int32(1)))
