"""Instructions of x86 that widen, narrow, multiply and look up vectors of bytes.

Interleaving and packing both work within quarters of a register of 64 bytes (halves or the whole
of a smaller one), so packing undoes interleaving.
"""

from dataclasses import dataclass, replace

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import (
    Array,
    Buffer,
    Vector,
    filled,
    flipped,
    instruction,
    kept,
    lanes_in,
    splat,
)
from legalize.kernels.isa.base import AffineForm, PairForm, VectorIsa
from legalize.kernels.isa.x86_instructions import (
    SIZES,
    add_pairs,
    dot_bytes,
    narrow_pair,
    narrow_to_bytes,
    shuffle_bytes,
    sized,
    unpack,
)

_QUARTER = 16
_LOWER_BITS = 15
_SHIFTED_BITS = 7


@dataclass(frozen=True)
class X86Vectors(VectorIsa):
    """Vectors of SSE4.1, AVX2 or AVX512BW.

    Attributes:
        has_word_sums: whether there is vpdpwssd.
        has_byte_permutation: whether there is vpermb.
    """

    has_word_sums: bool = False
    has_byte_permutation: bool = False
    multiplies_bytes = True  # by vpmaddubsw

    def widen(self, value: Vector) -> list[Vector]:
        """Widen by vpunpcklbw and vpunpckhbw with zero."""
        zero = splat("uint8", 0, self.size)
        return [self._words(unpack(value, zero, half, 1)) for half in (0, 1)]

    def widen_words(self, value: Vector) -> list[Vector]:
        """Widen by vpunpcklwd and vpunpckhwd with the sign."""
        sign = T.shift_right(value, splat("int16", 15, lanes_in(value)))
        return [self._unpacked_words(value, sign, half) for half in (0, 1)]

    def narrow_words(self, first: Vector, second: Vector) -> Vector:
        """Narrow by vpackssdw."""
        return narrow_pair(first, second)

    def narrow(self, first: Vector, second: Vector) -> Vector:
        """Narrow by vpackuswb."""
        return narrow_to_bytes(first, second, "uint8")

    def products(self, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Multiply by vpmullw and vpmulhw, interleaved."""
        products = kept(lhs * rhs), kept(sized("pmulhw", "int16", lhs, rhs))
        return [self._unpacked_words(*products, half) for half in (0, 1)]

    def pair_products(self, lhs: Vector, rhs: Vector) -> Vector:
        """Multiply and add by vpmaddwd."""
        return add_pairs(lhs, rhs)

    @property
    def adds_byte_products(self) -> bool:
        """Whether there is vpdpbusd: every processor with vpdpwssd has it."""
        return self.has_word_sums

    def byte_pairs(self, unsigned: Vector, signed: Vector) -> Vector:
        """Multiply and add by vpmaddubsw."""
        return sized("pmaddubsw", "int16", unsigned, signed)

    def add_byte_products(self, total: Vector, unsigned: Vector, signed: Vector) -> Vector:
        """Multiply and add by vpdpbusd."""
        return dot_bytes(total, unsigned, signed, lanes_in(total))

    def scaled(self, words: Vector, multiplier: int) -> Vector:
        """Scale by vpmulhuw."""
        lanes = lanes_in(words)
        # This int16 has the bits that vpmulhuw reads as unsigned.
        factor = T.reinterpret(f"int16x{lanes}", splat("uint16", multiplier, lanes))
        shifted = T.shift_left(words, splat("int16", 8, lanes))
        return sized("pmulhuw", "int16", shifted, factor)

    def upper_words(self, lhs: Vector, rhs: Vector) -> Vector:
        """Multiply by vpmulhuw. LLVM would turn a product and a shift into products of 32 bits."""
        lanes = lanes_in(lhs)
        if 2 * lanes > self.size:
            places = range(0, lanes, self.size // 2)
            parts = [
                self.upper_words(
                    *(T.Shuffle([each], _run(place, self.size)) for each in (lhs, rhs))
                )
                for place in places
            ]
            return T.Shuffle(parts, list(range(lanes)))
        if 2 * lanes not in SIZES:
            return super().upper_words(lhs, rhs)
        words = (T.reinterpret(f"int16x{lanes}", each) for each in (lhs, rhs))
        return T.reinterpret(f"uint16x{lanes}", sized("pmulhuw", "int16", *words))

    def rounded_words(self, lhs: Vector, rhs: Vector) -> Vector:
        """Multiply by vpmulhrsw."""
        lanes = lanes_in(lhs)
        if 2 * lanes not in SIZES:
            return super().rounded_words(lhs, rhs)
        words = (T.reinterpret(f"int16x{lanes}", each) for each in (lhs, rhs))
        return T.reinterpret(f"uint16x{lanes}", sized("pmulhrsw", "int16", *words))

    def affine(self, form: AffineForm, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Compute an affine form of pairs of int16."""
        constants = self.pair_form(form)
        pairs = map(kept, self.pairs_of_bytes(lhs, rhs))
        return [self.affine_of_pairs(constants, each) for each in pairs]

    def pairs_of_words(self, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Pair two vectors of int16, in the order of packing (vpunpcklwd and vpunpckhwd)."""
        return [self._words(unpack(lhs, rhs, half, 2)) for half in (0, 1)]

    def pair_form(self, form: AffineForm) -> PairForm:
        """Return the numbers of an affine form of pairs.

        The factors have more than 16 bits, so their upper and lower parts are multiplied
        separately.
        """
        factors = np.array([form.lhs, form.rhs])
        upper, lower = _parts(factors, _SHIFTED_BITS)
        # Values of at most eight bits still fit words after this shift.
        shifts_values = self.has_word_sums and bool(np.abs(upper).max() < 1 << 15)
        if not shifts_values:
            upper, lower = _parts(factors, _LOWER_BITS)
        return PairForm(
            lower=int(lower.astype(np.int16).view(np.int32)[0]),
            upper=int(upper.astype(np.int16).view(np.int32)[0]),
            addend=form.addend,
            shift=form.shift,
            zero=form.zero,
            below=form.below,
            shifts_values=shifts_values,
            corrects=form.corrects,
        )

    def affine_of_pairs(self, form: PairForm, pairs: Vector) -> Vector:
        """Compute an affine form of int16 values before its shift (vpmaddwd or vpdpwssd)."""
        total = splat("int32", form.addend, self.lanes)
        if form.shifts_values:
            shifted = T.shift_left(pairs, splat("int16", _SHIFTED_BITS, lanes_in(pairs)))
            # No sum leaves int32. A saturating sum keeps LLVM from splitting the last product and
            # its sum into two instructions.
            total = self._add_pair_products(total, pairs, form.lower, "vpdpwssds")
            return self._add_pair_products(total, shifted, form.upper, "vpdpwssds")
        high = T.shift_left(
            self._pair_products(pairs, form.upper), splat("int32", _LOWER_BITS, self.lanes)
        )
        return high + self._add_pair_products(total, pairs, form.lower)

    def packed_table(self, table: Array) -> Array:
        """Pack rows of 16 entries so that xor replaces selection; vpermb takes the table itself."""
        if self.has_byte_permutation:
            return table
        rows = table.reshape(-1, _QUARTER).copy()
        # An index of row k also reads all earlier rows, so row k holds its xor with the row before.
        for row in range(len(rows) - 1, 0, -1):
            rows[row] ^= rows[row - 1]
        # An index less 16·k is at least -128 only for k up to 8, so rows from 8 on are read anew.
        rows[8:] ^= rows[:8]
        return rows.reshape(-1)

    def look_up(self, table: Buffer, index: Vector) -> Vector:
        """Look up by vpermb, or by vpshufb."""
        if self.has_byte_permutation:
            return self._permuted(table, index)
        found = [self._row(table, row, index) for row in range(256 // _QUARTER)]
        while len(found) > 1:
            found = [T.bitwise_xor(*found[i : i + 2]) for i in range(0, len(found), 2)]
        return found[0]

    def _row(self, table: Buffer, row: int, index: Vector) -> Vector:
        """Look up in a row by vpshufb: zero if bit 7 of the index less 16·row is set."""
        entries = filled(table[T.ramp(_QUARTER * row, 1, _QUARTER)], self.size)
        first = splat("uint8", _QUARTER * (row % 8), self.size)
        vector = f"uint8x{self.size}"
        if row >= 8:
            # The difference saturates, so that an index below row 8 stays negative.
            name = f"llvm.ssub.sat.v{self.size}i8"
            place = instruction(vector, name, flipped(index), first)
        else:
            place = index - first
        return shuffle_bytes(entries, place)

    def _permuted(self, table: Buffer, index: Vector) -> Vector:
        """Look up by vpermb, which takes an index's lower six bits; the upper two choose a row."""
        found = [
            instruction(
                f"uint8x{self.size}",
                "llvm.x86.avx512.permvar.qi.512",
                table[T.ramp(self.size * part, 1, self.size)],
                index,
            )
            for part in range(4)
        ]
        halves = [self._choose(index, 64, *found[:2]), self._choose(index, 64, *found[2:])]
        return self._choose(index, 128, *halves)

    def _choose(self, index: Vector, bit: int, if_clear: Vector, if_set: Vector) -> Vector:
        is_set = T.bitwise_and(index, splat("uint8", bit, self.size)) != splat(
            "uint8", 0, self.size
        )
        return T.Select(is_set, if_set, if_clear)

    def _words(self, value: Vector) -> Vector:
        return T.reinterpret(f"int16x{self.size // 2}", value)

    def _unpacked_words(self, first: Vector, second: Vector, half: int) -> Vector:
        return T.reinterpret(f"int32x{self.lanes}", unpack(first, second, half, 2))

    def pairs_of_bytes(self, lhs: Vector, rhs: Vector) -> list[Vector]:
        """Return two vectors of uint8 side by side as int16, in the order that narrowing undoes."""
        zero = splat("uint8", 0, self.size)
        halves = [kept(unpack(lhs, rhs, half, 1)) for half in (0, 1)]
        return [self._words(unpack(value, zero, half, 1)) for value in halves for half in (0, 1)]

    def _pair_products(self, pairs: Vector, factors: Vector) -> Vector:
        return add_pairs(pairs, self._words(splat("int32", factors, self.lanes)))

    def _add_pair_products(
        self, total: Vector, pairs: Vector, factors: Vector, name: str = "vpdpwssd"
    ) -> Vector:
        if not self.has_word_sums:
            return total + self._pair_products(pairs, factors)
        return instruction(
            f"int32x{self.lanes}",
            f"llvm.x86.avx512.{name}.{8 * self.size}",
            total,
            pairs,
            self._words(splat("int32", factors, self.lanes)),
        )


def _parts(factors: Array, bits: int) -> tuple[Array, Array]:
    """Cut factors into upper parts and lower ones of ``bits``, which have a sign."""
    upper = (factors + (1 << (bits - 1))) >> bits
    return upper, factors - (upper << bits)


def _run(start: int, size: int) -> list[int]:
    """Return the indices of a register's worth of 16-bit lanes."""
    return list(range(start, start + size // 2))


AVX512BW = X86Vectors("avx512bw", ("avx512bw",), 64)
AVX512_VNNI = X86Vectors("avx512-vnni", ("avx512vnni", "avx512bw"), 64, has_word_sums=True)
AVX512_VNNI_VBMI = replace(
    AVX512_VNNI,
    name="avx512-vnni-vbmi",
    features=(*AVX512_VNNI.features, "avx512vbmi"),
    has_byte_permutation=True,
)
# Every processor with AVX2 has FMA, too.
AVX2 = X86Vectors("avx2", ("avx2",), 32, 16)
SSE41 = X86Vectors("sse4.1", ("sse4.1",), 16, 16, fuses_products=False)

VECTORS = (AVX512_VNNI_VBMI, AVX512_VNNI, AVX512BW, AVX2, SSE41)
"""All vectors, the fastest first."""
