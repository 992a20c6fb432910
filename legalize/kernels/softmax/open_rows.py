"""Softmax of rows of open length: it computes the results of all distances and looks them up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.vectors import Index, Vector, get_lanes, kept, local_vector, set_lanes
from legalize.kernels.softmax.kernel import DISTANCES, TERM_BYTES, Kernel, reciprocal
from legalize.kernels.softmax.steps import byte_tables
from qnn_ops.dialect.sizes import is_open
from qnn_ops.tables.softmax import LARGEST_SUM

_PIECES = 64
"""The number of vectors of bytes whose sums fit 16 bits."""


class OpenKernel(Kernel):
    """The writer of a function of rows of any length."""

    def build(self) -> tirx.PrimFunc:
        """Write the function."""
        own: dict[str, Any] = {}

        def size_of(size: Any) -> Any:
            known = not is_open([size])
            return T.int64(size) if known else own.setdefault(str(size), tirx.Var("size", "int64"))

        shape = [size_of(size) for size in self.shape]
        rows: Any = T.int64(1)
        for size in shape[:-1]:
            rows = rows * size
        self.columns = shape[-1]
        with IRBuilder() as builder, T.prim_func(s_tir=True):
            T.func_name("softmax")
            T.func_attr({"global_symbol": "softmax", "tirx.noalias": True})
            data = T.arg("data", T.buffer(shape, self.dtype))
            self.exponentials = T.arg("exponentials", T.buffer((DISTANCES,), "int32"))
            self.terms = T.arg("terms", T.buffer((DISTANCES,), "int32"))
            output = T.arg("output", T.buffer(shape, self.out_dtype))
            self.source = T.decl_buffer((rows * self.columns,), self.dtype, data=data.data)
            self.target = T.decl_buffer((rows * self.columns,), self.out_dtype, data=output.data)
            self.largest = T.alloc_buffer((1,), self.dtype, scope="global")
            self.total, self.fraction, self.down = (
                T.alloc_buffer((1,), "int64", scope="global") for _ in range(3)
            )
            self.table = T.alloc_buffer((DISTANCES,), "uint8", scope="global")
            self._clear_results()
            self.bytes = byte_tables(self.isa, self.terms, TERM_BYTES)
            with T.serial(rows) as row:
                self._row(kept(row * self.columns))
        return builder.get()

    def _row(self, start: Index) -> None:
        self._find_largest(start)
        self._add_up(start)
        T.buffer_store(self.total, T.min(self.total[0], T.int64(LARGEST_SUM)), [0])
        reciprocal(self.total[0], self.fraction, self.down)
        self._fill_table()

        def look_up(offset: Index, width: int) -> None:
            place = start + offset
            if width == 1:
                self._store(place, self.table[self._distance(place)])
            else:
                self._store(place, self.isa.look_up(self.table, self._byte_distance(place, width)))

        self._each(look_up)

    def _each(self, body: Callable[[Index, int], None]) -> None:
        """Write the loops over a row: vectors, the last of which may overlap, or single values."""
        size = self.isa.size
        with T.If(self.columns >= T.int64(size)):
            with T.Then(), T.serial(T.truncdiv(self.columns + (size - 1), T.int64(size))) as piece:
                body(kept(T.min(piece * size, self.columns - size)), size)
            with T.Else(), T.serial(self.columns) as each:
                body(each, 1)

    def _find_largest(self, start: Index) -> None:
        size, dtype = self.isa.size, self.dtype
        T.buffer_store(self.largest, self.source[start], [0])
        most = T.alloc_buffer((size,), dtype, scope="global")
        every = ramp(0, size)
        T.buffer_store(most, T.broadcast(self.source[start], size), [every])

        def compare(offset: Index, width: int) -> None:
            value = self.source[ramp(start + offset, width)]
            if width == 1:
                T.buffer_store(self.largest, T.max(self.largest[0], value), [0])
            else:
                T.buffer_store(most, T.max(most[every], value), [every])

        self._each(compare)
        name = "smax" if dtype == "int8" else "umax"
        name = f"llvm.vector.reduce.{name}.v{size}i8"
        found = T.call_llvm_pure_intrin(dtype, name, most[every])
        T.buffer_store(self.largest, T.max(self.largest[0], found), [0])

    def _add_up(self, start: Index) -> None:
        """Write the sum of a row's terms: for vectors byte by byte, for the rest term by term."""
        size, whole = self.isa.size, T.truncdiv(self.columns, T.int64(self.isa.size))
        T.buffer_store(self.total, T.int64(0), [0])
        with T.serial(T.truncdiv(whole + (_PIECES - 1), T.int64(_PIECES))) as part:
            first = kept(part * _PIECES)
            pieces = kept(T.min(whole - first, T.int64(_PIECES)))
            T.buffer_store(self.total, self.total[0] + self._sum_of(start, first, pieces), [0])
        rest = kept(whole * size)
        with T.serial(self.columns - rest) as each:
            term = self.terms[self._distance(start + rest + each)]
            T.buffer_store(self.total, self.total[0] + T.Cast("int64", term), [0])

    def _sum_of(self, start: Index, first: Index, pieces: Index) -> Vector:
        isa, half = self.isa, self.isa.size // 2
        sums = [local_vector(half, "int16") for _ in self.bytes]
        for each in sums:
            set_lanes(each, T.broadcast(T.int16(0), half), half)
        with T.serial(pieces) as piece:
            places = kept(self._byte_distance(start + (first + piece) * isa.size, isa.size))
            for each, table in zip(sums, self.bytes, strict=True):
                low, high = isa.widen(kept(isa.look_up(table, places)))
                set_lanes(each, get_lanes(each, half) + low + high, half)
        return self._total_of(sums, half)
