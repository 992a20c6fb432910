"""The instructions of Helium, the vectors of Cortex-M55 and M85, that kernels use."""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Index, Vector, instruction, kept

HELIUM = ("mclass", "mve")
"""LLVM's features of the cores that have Helium."""

SIZE = 16
"""The bytes in a register."""

FOUR = 4
"""The int32 values in a register."""

EIGHT = 8
"""The int16 values in a register."""

SAME = "tvm_qnn_same"
"""A function that returns its int32 argument. LLVM does not know that it does."""

COUNT = "tvm_qnn_count"
"""A function that returns its int32 argument above 0. LLVM knows only the sign."""

UNSEEN_CODE = f"""
define i32 @{SAME}(i32 %value) {{
  %same = call i32 asm sideeffect "", "=r,0"(i32 %value)
  ret i32 %same
}}
define i32 @{COUNT}(i32 %value) {{
  %same = call range(i32 1, -2147483648) i32 asm sideeffect "", "=r,0"(i32 %value)
  ret i32 %same
}}
"""
"""The LLVM of the functions that ``unseen_index`` and ``unseen_count`` call."""


def unseen_index(value: Index) -> Index:
    """Return an int32 unchanged. LLVM assumes another number each time."""
    return kept(T.call_extern("int32", SAME, value))


def unseen_count(value: int) -> Index:
    """Return a number above 0 unchanged. LLVM assumes another number each time."""
    return kept(T.call_extern("int32", COUNT, T.int32(value)))


def products(lhs: Vector, rhs: Vector, *, odd: bool) -> Vector:
    """Multiply the even or the odd lanes of two int8x16: int16x8."""
    name = "llvm.arm.mve.vmull.v8i16.v16i8"
    return instruction("int16x8", name, lhs, rhs, T.int32(0), T.int32(int(odd)))


def widened(value: Vector, *, odd: bool) -> Vector:
    """Widen the even or the odd lanes of an int16x8 to int32x4."""
    lanes = T.Shuffle([value], [2 * lane + odd for lane in range(FOUR)])
    return T.Cast("int32x4", lanes)


def upper_products(lhs: Vector, rhs: Vector) -> Vector:
    """Return the upper halves of the products of two int32x4."""
    return instruction("int32x4", "llvm.arm.mve.vmulh.v4i32", lhs, rhs, T.int32(0))


def lifted(value: Vector, by: Vector) -> Vector:
    """Shift each lane of an int32x4 left by its own number of bits."""
    zero = T.int32(0)
    name = "llvm.arm.mve.vshl.vector.v4i32.v4i32"
    return instruction("int32x4", name, value, by, zero, zero, zero)


def shifted(value: Vector, by: Index, *, saturates: bool = False) -> Vector:
    """Shift all lanes of an int32x4 left by the same number of bits."""
    zero = T.int32(0)
    name = "llvm.arm.mve.vshl.scalar.v4i32"
    return instruction("int32x4", name, value, by, T.int32(int(saturates)), zero, zero)


def lifted_saturating(value: Vector, by: int) -> Vector:
    """Shift an int32x4 left, saturating to 32 bits."""
    name = "llvm.arm.mve.vqshl.imm.v4i32"
    return instruction("int32x4", name, value, T.int32(by), T.int32(0))


def unseen(value: Vector) -> Vector:
    """Return an int8x16 unchanged, through an instruction that is opaque to LLVM.

    LLVM would turn a loop that only copies into memcpy, which small C libraries do byte by byte.
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
    half = kept(instruction(dtype, name, empty, even, zero, zero, zero))
    return kept(instruction(dtype, name, half, odd, zero, zero, T.int32(1)))
