"""The NEON instructions for which TVM has no operator, on AArch64 and on ARMv7."""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Vector, instruction, lanes_in

LANES = 4
"""int32 values in a register."""

# LLVM's names on AArch64 and on ARMv7, by AArch64's name of the instruction.
_INTRINSICS = {
    "sqdmulh": ("sqdmulh.v4i32", "vqdmulh.v4i32"),
    "sqrdmulh": ("sqrdmulh.v4i32", "vqrdmulh.v4i32"),
    "srshl": ("srshl.v4i32", "vrshifts.v4i32"),
    "sshl": ("sshl.v4i32", "vshifts.v4i32"),
}


class Neon:
    """NEON's instructions, under their AArch64 names."""

    def __init__(self, *, is_armv7: bool) -> None:
        """Choose one of the two architectures."""
        self.is_armv7 = is_armv7

    def words(self, name: str, *operands: Vector) -> Vector:
        """Return an instruction whose result is four int32."""
        return self._call("int32x4", *_INTRINSICS[name], *operands)

    def add_pairs(self, total: Vector, products: Vector) -> Vector:
        """Add neighbouring lanes of int16x8 to int32x4 (sadalp)."""
        if self.is_armv7:
            name = "llvm.arm.neon.vpadals.v4i32.v8i16"
            return instruction("int32x4", name, total, products)
        name = "llvm.aarch64.neon.saddlp.v4i32.v8i16"
        return total + instruction("int32x4", name, products)

    def narrow_words(self, value: Vector, shift: int = 0) -> Vector:
        """Narrow int32x4 to int16x4, saturating (sqxtn, or with a shift sqrshrn).

        Args:
            value: int32x4.
            shift: the right shift before narrowing, from 0 to 16. It rounds half up.
        """
        if not shift:
            return self._call("int16x4", "sqxtn.v4i16", "vqmovns.v4i16", value)
        by = T.broadcast(T.int32(-shift), LANES) if self.is_armv7 else T.int32(shift)
        return self._call("int16x4", "sqrshrn.v4i16", "vqrshiftns.v4i16", value, by)

    def narrow(self, value: Vector, dtype: str) -> Vector:
        """Narrow int16x8 to bytes of ``dtype``, saturating (sqxtn or sqxtun)."""
        if dtype == "uint8":
            return self._call("uint8x8", "sqxtun.v8i8", "vqmovnsu.v8i8", value)
        return self._call("int8x8", "sqxtn.v8i8", "vqmovns.v8i8", value)

    def _call(self, dtype: str, aarch64: str, armv7: str, *operands: Vector) -> Vector:
        name = f"llvm.arm.neon.{armv7}" if self.is_armv7 else f"llvm.aarch64.neon.{aarch64}"
        return instruction(dtype, name, *operands)


def multiply_long(lhs: Vector, rhs: Vector) -> Vector:
    """Multiply int8x8 to int16x8 (smull)."""
    return T.Cast("int16x8", lhs) * T.Cast("int16x8", rhs)


def add_saturating(value: Vector, addend: int) -> Vector:
    """Add a number to int16 lanes, saturating (sqadd)."""
    lanes = lanes_in(value)
    number = T.broadcast(T.int16(addend), lanes)
    return instruction(f"int16x{lanes}", f"llvm.sadd.sat.v{lanes}i16", value, number)


def half(value: Vector, number: int) -> Vector:
    """Return the lower or upper half of a vector."""
    lanes = lanes_in(value) // 2
    return T.Shuffle([value], list(range(number * lanes, (number + 1) * lanes)))


def joined(lower: Vector, upper: Vector) -> Vector:
    """Join two vectors to one."""
    return T.Shuffle([lower, upper], list(range(2 * lanes_in(lower))))


def paired(values: list[Vector], number: int) -> Vector:
    """Pair the ``number``-th eight bytes of two vectors of one dtype, as int64x2.

    With dtypes other than int64, LLVM emits a move and an insertion, not a zip.
    """
    bits = int(values[0].ty.dtype.bits) * lanes_in(values[0])
    words = bits // 64
    views = [T.reinterpret("int64" if words == 1 else f"int64x{words}", value) for value in values]
    return T.Shuffle(views, [number, words + number])


def picked(value: Vector, lanes: list[int]) -> Vector:
    """Return a vector of some lanes of another, which may be shorter, or a scalar."""
    count = lanes_in(value)
    # TVM's shuffle returns no more lanes than it reads.
    return T.Shuffle([value] * -(-len(lanes) // count), lanes)
