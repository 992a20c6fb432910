"""The interface of an architecture to kernels of vectors: widening of bytes, and narrowing.

Widening may distribute a vector's lanes to several vectors in any order that narrowing undoes: on
x86, interleaving within quarters of a register is cheaper than moving lanes across quarters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.arithmetic import fused_multiply_add, round_half_even
from legalize.kernels.ir.vectors import Array, Buffer, Vector, kept, lanes_in, splat
from qnn_ops.dialect.attributes import dtype_range


@dataclass(frozen=True)
class AffineForm:
    """(lhs·l + rhs·r + addend) >> shift, before the clamp, in int32.

    Operands and result count steps from the lowest value of their dtypes: 0 to 255.

    Attributes:
        lhs: factor of lhs.
        rhs: factor of rhs.
        addend: contains the zero points and the rounding.
        shift: the right shift.
        zero: ``below`` is added before the shift if the sum is less than this.
        below: 0 if there is no such correction.
    """

    lhs: int
    rhs: int
    addend: int
    shift: int
    zero: int = 0
    below: int = 0

    @property
    def corrects(self) -> bool:
        """Whether there is a correction."""
        return self.below != 0

    @property
    def swapped(self) -> AffineForm:
        """The same sum with lhs and rhs exchanged."""
        return replace(self, lhs=self.rhs, rhs=self.lhs)

    def quarters(self, isa: VectorIsa, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return the sums of two vectors of bytes, int32, in the order of ``isa.narrow_all``."""
        return [rounded(self, kept(total)) for total in isa.affine(self, lhs, rhs)]


@dataclass(frozen=True)
class FloatForm:
    """lhs·l + rhs·r + addend, before it is rounded to a whole number and clamped.

    Operands and result are values of the model's own dtype. One product is added to the addend, the
    other product to that sum. Each sum is rounded once.

    Attributes:
        lhs: l, a float32.
        rhs: r, a float32.
        addend: a float32.
        lhs_first: whether the product of lhs is added to the addend.
        moved: how much lhs, rhs and the result exceed the values of the model.
    """

    lhs: float
    rhs: float
    addend: float
    lhs_first: bool
    moved: tuple[int, int, int]

    @property
    def swapped(self) -> FloatForm:
        """The same sum with lhs and rhs exchanged."""
        lhs, rhs, result = self.moved
        return replace(
            self,
            lhs=self.rhs,
            rhs=self.lhs,
            lhs_first=not self.lhs_first,
            moved=(rhs, lhs, result),
        )

    def emit(self, lhs: Vector, rhs: Vector) -> Vector:
        """Build the expression of the sums of two vectors of float32."""
        lanes = lanes_in(lhs)
        terms = [(lhs, self.lhs), (rhs, self.rhs)]
        (first, factor), (last, other) = terms if self.lhs_first else reversed(terms)
        addend = splat("float32", self.addend, lanes)
        inner = fused_multiply_add(first, splat("float32", factor, lanes), addend)
        return fused_multiply_add(last, splat("float32", other, lanes), inner)

    def of_steps(self, dtypes: Sequence[str]) -> FloatForm:
        """Return the sum of steps from the lowest values of the dtypes of lhs, rhs and result."""
        lhs, rhs, result = (
            moved - dtype_range(dtype)[0] for moved, dtype in zip(self.moved, dtypes, strict=True)
        )
        return replace(self, moved=(lhs, rhs, result))

    def quarters(self, isa: VectorIsa, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return the sums of two vectors of bytes: see ``pairs.Form``."""
        sums = []
        operands = (_reals(isa, *each) for each in zip((lhs, rhs), self.moved, strict=False))
        for left, right in zip(*operands, strict=True):
            whole = round_half_even(self.emit(left, right))
            sums.append(whole - splat("int32", -self.moved[2], lanes_in(whole)))
        return sums


def _reals(isa: VectorIsa, value: Vector, moved: int) -> list[Vector]:
    """Return bytes, which exceed the values of the model, as four vectors of float32."""
    halves = [half + splat("int16", -moved, lanes_in(half)) for half in isa.widen(value)]
    words = [quarter for half in halves for quarter in isa.widen_words(half)]
    return [T.Cast(f"float32x{lanes_in(word)}", word) for word in words]


@dataclass(frozen=True)
class PairForm:
    """The constants of an affine form of pairs of int16: int32, numbers or vectors.

    Attributes:
        lower: the lower parts of both factors, as int16 side by side.
        upper: the upper parts of both factors.
        addend: the affine form's.
        shift: the right shift.
        zero: the limit of the correction.
        below: the correction.
        shifts_values: whether values are shifted before the upper products, not products
            afterwards.
        corrects: whether there is a correction.
    """

    lower: Vector
    upper: Vector
    addend: Vector
    shift: Vector
    zero: Vector
    below: Vector
    shifts_values: bool
    corrects: bool


def rounded(form: AffineForm | PairForm, total: Vector) -> Vector:
    """Shift an affine form right, with rounding: int32."""
    lanes = lanes_in(total)
    if form.corrects:
        none, below = splat("int32", 0, lanes), splat("int32", form.below, lanes)
        total = total + T.Select(total < splat("int32", form.zero, lanes), below, none)
    return T.shift_right(total, splat("int32", form.shift, lanes))


@dataclass(frozen=True)
class VectorIsa(ABC):
    """The vectors of an instruction set.

    Attributes:
        name: the instruction set's name.
        features: LLVM's names of the extensions that it needs.
        size: bytes in a register.
        registers: the number of vector registers.
        fuses_products: whether a product and a sum of float32 can have one rounding.
    """

    name: str
    features: tuple[str, ...]
    size: int
    registers: int = 32
    fuses_products: bool = True

    adds_bytes_to_words: ClassVar[bool] = False
    """Whether one instruction widens bytes and adds them."""
    multiplies_bytes: ClassVar[bool] = False
    """Whether there is ``byte_pairs``."""

    @property
    def lanes(self) -> int:
        """int32 or float32 values in a register."""
        return self.size // 4

    def multiply_add(self, lhs: Vector, rhs: Vector, addend: Vector) -> Vector:
        """Return lhs · rhs + addend of float32, with one rounding if the processor can do that."""
        if self.fuses_products:
            return fused_multiply_add(lhs, rhs, addend)
        return lhs * rhs + addend

    @abstractmethod
    def widen(self, value: Vector) -> list[Vector]:
        """Distribute uint8x(size) to two vectors of int16."""

    @abstractmethod
    def widen_words(self, value: Vector) -> list[Vector]:
        """Distribute a vector of int16 to two of int32."""

    @abstractmethod
    def narrow_words(self, first: Vector, second: Vector) -> Vector:
        """Undo ``widen_words``; values outside int16 saturate."""

    @abstractmethod
    def narrow(self, first: Vector, second: Vector) -> Vector:
        """Undo ``widen``: return uint8, to which other values saturate."""

    @abstractmethod
    def products(self, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return the products of two vectors of int16, in the order of ``widen_words``."""

    def pair_products(self, lhs: Vector, rhs: Vector) -> Vector:
        """Add products of neighbours of two vectors of int16, modulo 2^32: half as many int32.

        Args:
            lhs: at most a register, at least 16 bytes.
            rhs: as many lanes as ``lhs``.
        """
        lanes = lanes_in(lhs)
        wide = T.Cast(f"int32x{lanes}", lhs) * T.Cast(f"int32x{lanes}", rhs)
        products = kept(T.reinterpret(f"uint32x{lanes}", wide))
        even, odd = (T.Shuffle([products], list(range(first, lanes, 2))) for first in (0, 1))
        return T.reinterpret(f"int32x{lanes // 2}", even + odd)

    @property
    def adds_byte_products(self) -> bool:
        """Whether there is ``add_byte_products``."""
        return False

    def byte_pairs(self, unsigned: Vector, signed: Vector) -> Vector:
        """Add products of neighbours of uint8 and int8, saturating: half as many int16."""
        raise NotImplementedError

    def add_byte_products(self, total: Vector, unsigned: Vector, signed: Vector) -> Vector:
        """Add to each int32 the products of four neighbours of uint8 and int8."""
        raise NotImplementedError

    def scaled(self, words: Vector, multiplier: int) -> Vector:
        """Compute x·multiplier >> 8 for int16 from 0 to 255 and a product below 2^23."""
        lanes = lanes_in(words)
        product = T.Cast(f"uint32x{lanes}", words) * splat("uint32", multiplier, lanes)
        return T.Cast(f"int16x{lanes}", T.shift_right(product, splat("uint32", 8, lanes)))

    def upper_words(self, lhs: Vector, rhs: Vector) -> Vector:
        """Return the upper halves of the products of two vectors of uint16, of any lanes."""
        lanes = lanes_in(lhs)
        wide = f"uint32x{lanes}"
        product = T.Cast(wide, lhs) * T.Cast(wide, rhs)
        return T.Cast(f"uint16x{lanes}", T.shift_right(product, splat("uint32", 16, lanes)))

    def rounded_words(self, lhs: Vector, rhs: Vector) -> Vector:
        """Return (x·y + 2^14) >> 15 of words from 0 to 2^15 − 1, of any lanes: uint16."""
        lanes = lanes_in(lhs)
        wide = f"uint32x{lanes}"
        product = T.Cast(wide, lhs) * T.Cast(wide, rhs) + splat("uint32", 1 << 14, lanes)
        return T.Cast(f"uint16x{lanes}", T.shift_right(product, splat("uint32", 15, lanes)))

    @abstractmethod
    def affine(self, form: AffineForm, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return an affine form of two vectors of uint8, before its shift.

        Returns:
            Four vectors of int32, in the order of ``widen`` and ``widen_words``.
        """

    @abstractmethod
    def packed_table(self, table: Array) -> Array:
        """Lay out a table, uint8 [256], as ``look_up`` reads it."""

    @property
    def has_plain_tables(self) -> bool:
        """Whether ``packed_table`` leaves tables as they are."""
        table = np.arange(256, dtype=np.uint8)
        return np.array_equal(self.packed_table(table), table)

    @abstractmethod
    def look_up(self, table: Buffer, index: Vector) -> Vector:
        """Look up uint8x(size) in a buffer that holds a packed table."""

    def widen_all(self, value: Vector) -> list[Vector]:
        """Distribute uint8x(size) to four vectors of int32."""
        return [quarter for half in self.widen(value) for quarter in self.widen_words(kept(half))]

    def narrow_all(self, quarters: list[Vector]) -> Vector:
        """Undo ``widen_all``: return uint8, to which other values saturate."""
        return self.narrow(self.narrow_words(*quarters[:2]), self.narrow_words(*quarters[2:]))
