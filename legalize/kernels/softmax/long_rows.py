"""Softmax of long rows, or of rows of open length: it tabulates the results of a row.

A long row has few different values. So the results of all distances that do not give 0 are
computed, as vectors, and looked up. If registers hold the tables, the terms of the sum are looked
up, too, byte by byte.
"""

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.vectors import (
    Index,
    Vector,
    get_lanes,
    kept,
    local_vector,
    reduced,
    set_lanes,
    splat,
    spread,
    vector_of,
)
from legalize.kernels.softmax.kernel import DISTANCES, Kernel
from legalize.kernels.softmax.steps import byte_tables, largest_of, reciprocals
from qnn_ops.tables.softmax import ACCUMULATOR_BITS, LARGEST_SUM

_LARGEST_TERM = 1 << (31 - ACCUMULATOR_BITS)
# The bytes of a term, which has 20 bits; and the most vectors of bytes whose sums fit 16 bits.
_TERM_BYTES = 3
_MOST_PIECES = 64
# The most registers for tables, of 32; tables in memory are no faster than single terms.
_MOST_REGISTERS = 16


class LongRows(Kernel):
    """The writer of a function of rows of any length."""

    def write(self) -> None:
        """Write the loops."""
        isa = self.isa
        self.table = T.alloc_buffer((DISTANCES,), "uint8", scope="global")
        with T.serial(DISTANCES // isa.size) as part:
            zeros = splat("uint8", self.zero_point % 256, isa.size)
            T.buffer_store(self.table, zeros, [ramp(part * isa.size, isa.size)])
        add = self._sum
        if isa.has_plain_tables and _TERM_BYTES * DISTANCES // isa.size <= _MOST_REGISTERS:
            self.bytes = byte_tables(isa, self.terms, _TERM_BYTES)
            add = self._sum_of_bytes
        with T.serial(self.rows) as row:
            start = row * self.columns
            self.largest = kept(largest_of(isa, self.source, start, self.columns))
            total = T.min(T.Cast("int64", add(start)), T.int64(LARGEST_SUM))
            self._fill_table(kept(total))
            self._look_up(start)

    def _sum(self, start: Index) -> Vector:
        # A sum of few terms fits 32 bits, and ARMv7 adds 32 bits in one instruction.
        is_known = isinstance(self.columns, int)
        is_small = is_known and self.columns <= LARGEST_SUM // _LARGEST_TERM
        total = local_vector(1, "int32" if is_small else "int64")
        set_lanes(total, splat(str(total.dtype), 0, 1), 1)
        self._add_terms(total, start, self.columns)
        return total[0]

    def _add_terms(self, total: Vector, start: Index, count: Index) -> None:
        with T.serial(count) as i:
            term = self.terms[self._distance(start + i)]
            T.buffer_store(total, total[0] + T.Cast(str(total.dtype), term), [0])

    def _sum_of_bytes(self, start: Index) -> Vector:
        """Add up the terms of a row, each byte position separately, and the rest term by term."""
        size, whole = self.isa.size, T.truncdiv(self.columns, self.isa.size)
        total = local_vector(1, "int64")
        T.buffer_store(total, T.int64(0), [0])
        with T.serial(T.truncdiv(whole + (_MOST_PIECES - 1), _MOST_PIECES)) as part:
            first = kept(part * _MOST_PIECES)
            count = kept(T.min(whole - first, _MOST_PIECES))
            T.buffer_store(total, total[0] + self._sum_of_pieces(start + first * size, count), [0])
        self._add_terms(total, start + whole * size, self.columns - whole * size)
        return total[0]

    def _sum_of_pieces(self, start: Index, count: Index) -> Vector:
        isa, half = self.isa, self.isa.size // 2
        sums = [local_vector(half, "int16") for _ in self.bytes]
        for each in sums:
            set_lanes(each, splat("int16", 0, half), half)
        with T.serial(count) as piece:
            places = kept(self._byte_distance(start + piece * isa.size, isa.size))
            for each, table in zip(sums, self.bytes, strict=True):
                first, second = isa.widen(kept(isa.look_up(table, places)))
                set_lanes(each, get_lanes(each, half) + first + second, half)
        total: Vector = T.int64(0)
        for place, each in enumerate(sums):
            first, second = isa.widen_words(get_lanes(each, half))
            added = T.Cast("int64", reduced("add", first + second))
            total = total + T.shift_left(added, T.int64(8 * place))
        return total

    def _fill_table(self, total: Vector) -> None:
        """Write a table of the results of all distances that do not give 0."""
        size = self.isa.size
        fraction, down = (kept(T.Cast("int32", each)) for each in reciprocals(total))
        with T.serial(-(-self.distances // size)) as part:
            index = ramp(part * size, size)
            value = self.result(self.exponentials[index], fraction, down)
            T.buffer_store(self.table, value, [index])

    def _look_up(self, start: Index) -> None:
        isa, table = self.isa, self.table

        def look_up(offset: Index, width: int) -> None:
            place = start + offset
            if width == 1:
                self.store(place, table[self._distance(place)])
            else:
                self.store(place, isa.look_up(table, self._byte_distance(place, width)))

        for_each_piece(self.columns, look_up, isa.size if isa.has_plain_tables else 1)

    def _distance(self, place: Index) -> Vector:
        """Compute the distance of a value from the largest."""
        return T.Cast("int32", self.largest) - T.Cast("int32", self.source[place])

    def _byte_distance(self, place: Index, width: int) -> Vector:
        """Compute distances modulo 256, which is exact, as they have no sign."""
        distance = spread(self.largest, width) - self.source[ramp(place, width)]
        return T.reinterpret(vector_of("uint8", width), distance)
