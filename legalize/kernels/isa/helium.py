"""The instructions of Helium, the vectors of Cortex-M55 and M85, that kernels are made of."""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Buffer, Index, Vector
from legalize.kernels.ir.vectors import splat

HELIUM = ("mclass", "mve")
"""What LLVM calls the cores that have it."""

SIZE = 16
"""Bytes in a register."""

FOUR = 4
"""int32 in a register."""

EIGHT = 8
"""int16 in a register."""

VECTOR = "tvm_qnn_vector"
"""A function of a place in memory, aligned to four bytes: the int8x16 there."""

SAME = "tvm_qnn_same"
"""A function of an int32: the same, which LLVM does not know."""

COUNT = "tvm_qnn_count"
"""The same of an int32 above 0."""

SCATTER = "tvm_qnn_scatter"
"""A function that stores the lower bytes of an int16x8, each at its own offset from a place."""

_STORE = "llvm.arm.mve.vstr.scatter.offset.p0.v8i16.v8i16"

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
define i32 @{COUNT}(i32 %value) {{
  %same = call range(i32 1, -2147483648) i32 asm sideeffect "", "=r,0"(i32 %value)
  ret i32 %same
}}
declare void @{_STORE}(ptr, <8 x i16>, <8 x i16>, i32, i32)
define void @{SCATTER}(ptr %place, <8 x i16> %offsets, <8 x i16> %values, i32 %most) {{
  call void @{_STORE}(ptr %place, <8 x i16> %offsets, <8 x i16> %values, i32 8, i32 0)
  ret void
}}
"""


def reading_vectors() -> Any:
    """Open the part of a function that may call ``vector_of``, ``unseen_…`` and ``scatter``."""
    return T.attr("default", "pragma_import_llvm", _VECTOR_IR)


def vector_of(buffer: Buffer, start: Index) -> Vector:
    """Read an int8x16 anew, at a place that is aligned to four bytes."""
    return kept(T.call_extern("int8x16", VECTOR, T.address_of(buffer[start])))


def unseen_index(value: Index) -> Index:
    """Return an int32 as it is, which LLVM takes for another one each time."""
    return kept(T.call_extern("int32", SAME, value))


def unseen_count(value: int) -> Index:
    """Return a number above 0 as it is, which LLVM takes for another one each time."""
    return kept(T.call_extern("int32", COUNT, T.int32(value)))


def scatter(buffer: Buffer, start: Index, offsets: Vector, values: Vector, most: int) -> None:
    """Store the lower bytes of an int16x8.

    Args:
        buffer: of bytes.
        start: a place in it.
        offsets: int16x8, of each byte from there.
        values: int16x8.
        most: the largest offset.
    """
    place = T.address_of(buffer[start])
    T.evaluate(T.call_extern("void", SCATTER, place, offsets, values, T.int32(most)))


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


def upper_products_and(lhs: Vector, rhs: Vector, addend: Index) -> Vector:
    """Return the upper halves of twice the products of two int32x4, and an int32 added to each."""
    name = "llvm.arm.mve.vqdmlash.v4i32"
    return kept(T.call_llvm_pure_intrin("int32x4", name, lhs, rhs, addend))


def lifted(value: Vector, by: Vector) -> Vector:
    """Shift each lane of an int32x4 to the left by its own number of bits."""
    zero = T.int32(0)
    name = "llvm.arm.mve.vshl.vector.v4i32.v4i32"
    return T.call_llvm_pure_intrin("int32x4", name, value, by, zero, zero, zero)


def shifted(value: Vector, by: Index, *, saturates: bool = False) -> Vector:
    """Shift all lanes of an int32x4 to the left by a number of bits."""
    zero = T.int32(0)
    name = "llvm.arm.mve.vshl.scalar.v4i32"
    return T.call_llvm_pure_intrin("int32x4", name, value, by, T.int32(int(saturates)), zero, zero)


def rotated(value: Vector, by: Index | int) -> Vector:
    """Rotate each lane of an int32x4 to the left by 0 to 31 bits; a number is from 1 on."""
    if isinstance(by, int):
        rest = T.shift_right(T.reinterpret("uint32x4", value), splat("uint32", 32 - by, FOUR))
        left = T.shift_left(value, splat("int32", by, FOUR))
        return T.bitwise_or(left, T.reinterpret("int32x4", rest))
    name, zero = "llvm.arm.mve.vshl.vector.v4i32.v4i32", T.int32(0)
    # Unsigned: nothing is left of a lane that is shifted to the right by all of its bits.
    parts = [
        T.call_llvm_pure_intrin("int32x4", name, value, shift, zero, zero, T.int32(1))
        for shift in (T.broadcast(by, FOUR), T.broadcast(by - 32, FOUR))
    ]
    return T.bitwise_or(*parts)


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


def narrowed_by(even: Vector, odd: Vector, right: int) -> Vector:
    """Shift two int32x4 to the right, and saturate them to int8: in the even lanes of an int8x16.

    Args:
        even: what becomes every other one of those.
        odd: what becomes the others.
        right: bits, from 2 to 24.
    """
    first = min(right - 1, 16)
    half = _narrowed_by("v8i16.v4i32", T.reinterpret("int16x8", even), even, first, top=False)
    both = _narrowed_by("v8i16.v4i32", half, odd, first, top=True)
    # The upper bytes stay what they were.
    return _narrowed_by(
        "v16i8.v8i16", T.reinterpret("int8x16", both), both, right - first, top=False
    )


def _narrowed_by(name: str, into: Vector, value: Vector, right: int, *, top: bool) -> Vector:
    options = (T.int32(1), *(T.int32(0),) * 3, T.int32(int(top)))  # saturating, rounding, unsigned
    dtype, name = str(into.ty.dtype), f"llvm.arm.mve.vshrn.{name}"
    return kept(T.call_llvm_pure_intrin(dtype, name, into, value, T.int32(right), *options))
