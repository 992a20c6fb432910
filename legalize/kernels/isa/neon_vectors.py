"""NEON's instructions that widen, narrow, multiply and look up vectors of bytes."""

from dataclasses import dataclass

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Array, Buffer, Vector, instruction, lanes_in, splat
from legalize.kernels.isa.base import AffineForm, VectorIsa
from legalize.kernels.isa.neon import Neon, half, joined


@dataclass(frozen=True)
class NeonVectors(VectorIsa):
    """Vectors of NEON.

    Attributes:
        is_armv7: whether the architecture is ARMv7, not AArch64.
    """

    is_armv7: bool = False
    adds_bytes_to_words = True  # by uaddw

    def widen(self, value: Vector) -> list[Vector]:
        """Widen by uxtl and uxtl2."""
        return [T.Cast("int16x8", half(value, number)) for number in (0, 1)]

    def widen_words(self, value: Vector) -> list[Vector]:
        """Widen by sxtl and sxtl2."""
        return [T.Cast("int32x4", half(value, number)) for number in (0, 1)]

    def narrow_words(self, first: Vector, second: Vector) -> Vector:
        """Narrow by sqxtn and sqxtn2."""
        return joined(self._neon.narrow_words(first), self._neon.narrow_words(second))

    def narrow(self, first: Vector, second: Vector) -> Vector:
        """Narrow by sqxtun and sqxtun2."""
        return joined(self._neon.narrow(first, "uint8"), self._neon.narrow(second, "uint8"))

    def products(self, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Multiply by smull and smull2."""
        pairs = zip(self.widen_words(lhs), self.widen_words(rhs), strict=True)
        return [left * right for left, right in pairs]

    def affine(self, form: AffineForm, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Multiply and add by two mla by element."""
        addend = splat("int32", form.addend, self.lanes)
        pairs = zip(self.widen_all(lhs), self.widen_all(rhs), strict=True)
        return [
            addend
            + left * splat("int32", form.lhs, self.lanes)
            + right * splat("int32", form.rhs, self.lanes)
            for left, right in pairs
        ]

    def packed_table(self, table: Array) -> Array:
        """Return the table as it is."""
        return table

    def look_up(self, table: Buffer, index: Vector) -> Vector:
        """Look up by tbl and tbx: an index past a tbl's registers keeps the earlier result."""
        if not self.is_armv7:
            return self._found(table, index, "llvm.aarch64.neon", ".v16i8")
        halves = [half(index, number) for number in (0, 1)]
        return joined(*(self._found(table, part, "llvm.arm.neon.v", "") for part in halves))

    def _found(self, table: Buffer, index: Vector, prefix: str, suffix: str) -> Vector:
        lanes = lanes_in(index)
        vector, dot = f"uint8x{lanes}", "" if self.is_armv7 else "."
        reach = 4 * lanes
        found: Vector = None
        for start in range(0, 256, reach):
            entries = [table[T.ramp(start + lanes * part, 1, lanes)] for part in range(4)]
            place = index - splat("uint8", start, lanes)
            name, before = ("tbl4", ()) if found is None else ("tbx4", (found,))
            found = instruction(vector, f"{prefix}{dot}{name}{suffix}", *before, *entries, place)
        return found

    @property
    def _neon(self) -> Neon:
        return Neon(is_armv7=self.is_armv7)


NEON = NeonVectors("neon", ("aarch64", "neon"), 16)
# Some ARMv7 processors lack fmla.
ARMV7 = NeonVectors("armv7", ("arm", "neon"), 16, 16, fuses_products=False, is_armv7=True)

VECTORS = (NEON, ARMV7)
