"""Softmax of rows of bytes in one function. The arithmetic is mostly one division for each row.

With seven functions, one for each primitive, the calls took longer than the arithmetic.

    for each row
      largest = max(row)
      total = Σ terms[largest − x]
      fraction, down = reciprocal(total)
      for each x
        output = exponentials[largest − x]·fraction, rounded to 8 bits

A long row has few different values. So the results of all distances that do not give 0 are
computed, as vectors, and looked up. If registers hold the tables, the terms of the sum are looked
up, too, byte by byte. Many short rows are computed a block at a time: `many_rows`, `even_rows`.
"""

from __future__ import annotations

from functools import cache
from math import prod

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.vectors import (
    DWORD,
    Buffer,
    Index,
    Vector,
    get_lanes,
    kept,
    lanes_in,
    local_vector,
    set_lanes,
    splat,
    spread,
    vector_of,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.softmax.even_rows import even_rows, has_even_rows
from legalize.kernels.softmax.many_rows import many_rows
from legalize.kernels.softmax.steps import LEAST_BITS, byte_tables, largest_of, result
from qnn_ops.tables.softmax import (
    ACCUMULATOR_BITS,
    FORTY_EIGHT_OVER_17,
    LARGEST_SUM,
    MINUS_32_OVER_17,
    NEWTON_STEPS,
)

_LARGEST_TERM = 1 << (31 - ACCUMULATOR_BITS)
# The results of all distances take this many times as long as the result of one value.
_LONG_ROW = 128
DISTANCES = 256
# The bytes of a term, which has 20 bits; and the most vectors of bytes whose sums fit 16 bits.
TERM_BYTES = 3
_MOST_PIECES = 64
# The most registers for tables, of 32; tables in memory are no faster than single terms.
_MOST_REGISTERS = 16


@cache
def softmax(
    isa: VectorIsa,
    shape: tuple[int, ...],
    dtype: str,
    out_dtype: str,
    output_zero_point: int,
    distances: int = DISTANCES,
) -> tirx.PrimFunc:
    """Build the function that computes a softmax along the last axis.

    Args:
        isa: the vectors.
        shape: the data's shape.
        dtype: the data's dtype.
        out_dtype: the output's dtype.
        output_zero_point: the output's zero point.
        distances: the least distance from which every value's result is 0.

    Returns:
        A function of the data; exponentials and terms of the sum by a value's distance from the
        largest, int32 [256] each, from ``qnn_ops.tables.softmax``; and the output.
    """
    if has_even_rows(isa, shape):
        return even_rows(isa, shape, dtype, out_dtype, output_zero_point)
    if shape[-1] < _LONG_ROW and prod(shape[:-1]) >= isa.size // DWORD:
        return many_rows(isa, shape, dtype, out_dtype, output_zero_point)
    return Kernel(isa, shape, dtype, out_dtype, output_zero_point, distances).build()


class Kernel:
    """The buffers of one function, and the writer of its loops."""

    def __init__(
        self,
        isa: VectorIsa,
        shape: tuple[int, ...],
        dtype: str,
        out_dtype: str,
        output_zero_point: int,
        distances: int,
    ) -> None:
        self.isa = isa
        self.shape = shape
        self.dtype = dtype
        self.out_dtype = out_dtype
        self.output_zero_point = output_zero_point
        self.columns = shape[-1]
        self.distances = distances

    def build(self) -> tirx.PrimFunc:
        """Write the function."""
        rows = prod(self.shape[:-1])
        size = rows * self.columns
        with IRBuilder() as builder, T.prim_func(s_tir=True):
            T.func_name("softmax")
            T.func_attr({"global_symbol": "softmax", "tirx.noalias": True})
            data = T.arg("data", T.buffer(self.shape, self.dtype))
            self.exponentials = T.arg("exponentials", T.buffer((DISTANCES,), "int32"))
            self.terms = T.arg("terms", T.buffer((DISTANCES,), "int32"))
            output = T.arg("output", T.buffer(self.shape, self.out_dtype))
            self.source = T.decl_buffer((size,), self.dtype, data=data.data)
            self.target = T.decl_buffer((size,), self.out_dtype, data=output.data)
            self.largest = T.alloc_buffer((1,), self.dtype, scope="global")
            self.total, self.fraction, self.down = (
                T.alloc_buffer((1,), "int64", scope="global") for _ in range(3)
            )
            write, add = self._short_row, self._sum
            if self.columns >= max(_LONG_ROW, self.isa.size):
                self.table = T.alloc_buffer((DISTANCES,), "uint8", scope="global")
                self._clear_results()
                write = self._long_row
                if self._adds_bytes():
                    self.bytes = byte_tables(self.isa, self.terms, TERM_BYTES)
                    add = self._sum_of_bytes
            with T.serial(rows) as row:
                start = row * self.columns
                T.buffer_store(
                    self.largest, largest_of(self.isa, self.source, start, self.columns), [0]
                )
                add(start)
                reciprocal(self.total[0], self.fraction, self.down)
                write(start)
        return builder.get()

    def _adds_bytes(self) -> bool:
        registers = TERM_BYTES * DISTANCES // self.isa.size
        pieces = self.columns // self.isa.size
        fits = registers <= _MOST_REGISTERS and pieces <= _MOST_PIECES
        return fits and self.isa.has_plain_tables

    def _sum(self, start: Index) -> None:
        # A sum of few terms fits 32 bits, and ARMv7 adds 32 bits in one instruction.
        dtype = "int32" if self.columns <= LARGEST_SUM // _LARGEST_TERM else "int64"
        total = T.alloc_buffer((1,), dtype, scope="global")
        T.buffer_store(total, getattr(T, dtype)(0), [0])
        with T.serial(self.columns) as i:
            term = self.terms[self._distance(start + i)]
            T.buffer_store(total, total[0] + T.Cast(dtype, term), [0])
        whole = T.min(T.Cast("int64", total[0]), T.int64(LARGEST_SUM))
        T.buffer_store(self.total, whole, [0])

    def _sum_of_bytes(self, start: Index) -> None:
        """Add up the terms of a row, each byte position separately, and the rest term by term."""
        isa, half = self.isa, self.isa.size // 2
        whole, rest = divmod(self.columns, isa.size)
        sums = [local_vector(half, "int16") for _ in self.bytes]
        for each in sums:
            set_lanes(each, splat("int16", 0, half), half)
        with T.serial(whole) as piece:
            places = kept(self._byte_distance(start + piece * isa.size, isa.size))
            for each, table in zip(sums, self.bytes, strict=True):
                first, second = isa.widen(kept(isa.look_up(table, places)))
                set_lanes(each, get_lanes(each, half) + first + second, half)
        T.buffer_store(self.total, self._total_of(sums, half), [0])
        if rest:
            with T.serial(rest) as i:
                term = self.terms[self._distance(start + whole * isa.size + i)]
                T.buffer_store(self.total, self.total[0] + T.Cast("int64", term), [0])
        T.buffer_store(self.total, T.min(self.total[0], T.int64(LARGEST_SUM)), [0])

    def _total_of(self, sums: list[Buffer], half: int) -> Vector:
        """Return the sum of terms from the sums of their bytes at each position."""
        total: Vector = T.int64(0)
        for place, each in enumerate(sums):
            first, second = self.isa.widen_words(get_lanes(each, half))
            name = f"llvm.vector.reduce.add.v{half // 2}i32"
            added = T.call_llvm_pure_intrin("int32", name, first + second)
            total = total + T.shift_left(T.Cast("int64", added), T.int64(8 * place))
        return total

    def _clear_results(self) -> None:
        size = self.isa.size
        with T.serial(DISTANCES // size) as part:
            zeros = splat("uint8", self.output_zero_point % 256, size)
            T.buffer_store(self.table, zeros, [ramp(part * size, size)])

    def _short_row(self, start: Index) -> None:
        with T.serial(self.columns) as i:
            self._store(start + i, self._result(self.exponentials[self._distance(start + i)]))

    def _long_row(self, start: Index) -> None:
        isa, table = self.isa, self.table
        self._fill_table()
        if not isa.has_plain_tables:
            with T.serial(self.columns) as i:
                self._store(start + i, table[self._distance(start + i)])
            return

        def look_up(i: Index, width: int) -> None:
            self._store(start + i, isa.look_up(table, self._byte_distance(start + i, width)))

        # All pieces are whole vectors: the row is longer than one.
        for_each_piece(self.columns, look_up, isa.size)

    def _fill_table(self) -> None:
        """Write a table of the results of all distances that do not give 0."""
        size = self.isa.size
        with T.serial(-(-self.distances // size)) as part:
            index = ramp(part * size, size)
            T.buffer_store(self.table, self._result(self.exponentials[index]), [index])

    def _distance(self, place: Index) -> Vector:
        """Compute the distance of a value from the largest."""
        return T.Cast("int32", self.largest[0]) - T.Cast("int32", self.source[place])

    def _byte_distance(self, place: Index, width: int) -> Vector:
        """Compute distances modulo 256, which is exact, as they have no sign."""
        distance = spread(self.largest[0], width) - self.source[ramp(place, width)]
        return T.reinterpret(vector_of("uint8", width), distance)

    def _store(self, place: Index, value: Vector) -> None:
        lanes = lanes_in(value)
        value = T.reinterpret(vector_of(self.out_dtype, lanes), value)
        T.buffer_store(self.target, value, [ramp(place, lanes)])

    def _result(self, exponential: Vector) -> Vector:
        fraction, down = (T.Cast("int32", each[0]) for each in (self.fraction, self.down))
        return result(exponential, fraction, down, self.output_zero_point)


def reciprocal(total: Vector, fraction: Vector, down: Vector) -> None:
    """Write qnn_ops.tables.softmax.reciprocal; ``down`` shifts products to 8 bits."""
    bits = T.int64(0)
    for power in range(LEAST_BITS, 31):
        bits = bits + T.Cast("int64", total >= T.int64(1 << power))
    T.buffer_store(down, bits + T.int64(23), [0])
    to_one = T.int64(ACCUMULATOR_BITS + 23) - down[0]
    half_denominator = T.shift_right(T.shift_left(total, to_one), T.int64(1))
    product = _product(half_denominator, T.int64(MINUS_32_OVER_17))
    T.buffer_store(fraction, product + T.int64(FORTY_EIGHT_OVER_17), [0])
    for _ in range(NEWTON_STEPS):
        error = T.int64(1 << 29) - _product(half_denominator, fraction[0])
        better = fraction[0] + _product(fraction[0], error) * T.int64(4)
        T.buffer_store(fraction, better, [0])
    T.buffer_store(fraction, T.min(fraction[0] * T.int64(2), T.int64(2**31 - 1)), [0])


def _product(a: Vector, b: Vector) -> Vector:
    """Compute gemmlowp's doubling high product of int64 expressions that hold int32 values."""
    return T.shift_right(a * b + T.int64(1 << 30), T.int64(31))
