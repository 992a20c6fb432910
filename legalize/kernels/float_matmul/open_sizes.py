"""Products of float32 matrices whose sizes only a run knows.

    for each product, and block of columns
      packed = the block of rhs
      for each tile of rows
        for each panel of the depth
          sums += lhs · packed, one value of the depth after the other

The sums are those of the kernel for known sizes. The last tile of rows overlaps the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.tasks import loop_between
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    splat,
    spread,
)
from legalize.kernels.isa.base import VectorIsa
from qnn_ops.dialect.sizes import is_open

_ROWS = 6
"""The rows of a tile."""


@dataclass
class OpenKernel:
    """The writer of one function.

    Attributes:
        isa: the vectors.
        left: the shape of lhs: [..., rows, depth].
        right: the shape of rhs: [..., depth, columns], with the same first axes.
        panel: products in a chain that is added up by itself; 0 for one chain. A single row is
            always one chain.
    """

    isa: VectorIsa
    left: Sequence[Any]
    right: Sequence[Any]
    panel: int

    def build(self) -> tirx.PrimFunc:
        """Write the function of lhs, rhs and the output."""
        with IRBuilder() as builder, T.prim_func(s_tir=True):
            T.func_name("float_matmul")
            T.func_attr({"global_symbol": "float_matmul", "tirx.noalias": True})
            self._declare()
            with T.serial(self.products) as product:
                self._product(product)
        return builder.get()

    def _declare(self) -> None:
        own: dict[str, Any] = {}

        def size_of(size: Any) -> Any:
            if not is_open([size]):
                return T.int64(size)
            return own.setdefault(str(size), tirx.Var("size", "int64"))

        *outer, self.rows, self.depth = map(size_of, self.left)
        self.columns = size_of(self.right[-1])
        self.products: Any = prod(outer, start=T.int64(1))

        matrices = {
            "lhs": (self.rows, self.depth),
            "rhs": (self.depth, self.columns),
            "output": (self.rows, self.columns),
        }
        given = [
            T.arg(name, T.buffer([*outer, *matrix], "float32")) for name, matrix in matrices.items()
        ]
        self.lhs, self.rhs, self.output = (
            T.decl_buffer((prod(matrix, start=self.products),), "float32", data=buffer.data)
            for matrix, buffer in zip(matrices.values(), given, strict=True)
        )

    def _product(self, product: Index) -> None:
        """Write blocks of several vectors of columns, then of fewer, then of one."""
        lanes, most = self.isa.lanes, self.isa.registers // 8
        self.packed = T.alloc_buffer((self.depth * most * lanes,), "float32", scope="global")
        self.edge = T.alloc_buffer((lanes,), "float32", scope="global")
        begin: Any = T.int64(0)
        for size in range(most, 1, -1):
            whole = kept(T.truncdiv(self.columns - begin, T.int64(size * lanes)))
            with T.serial(whole) as block:
                self._block(product, kept(begin + block * (size * lanes)), size)
            begin = kept(begin + whole * (size * lanes))
        with T.serial(T.truncdiv(self.columns - begin + (lanes - 1), T.int64(lanes))) as block:
            self._block(product, kept(begin + block * lanes), 1)

    def _block(self, product: Index, column: Index, size: int) -> None:
        """Write the tiles of a block of ``size`` vectors of columns."""
        self._pack(kept(product * self.depth * self.columns + column), column, size)
        first = kept(product * self.rows)
        with T.If(self.rows >= T.int64(_ROWS)):
            with T.Then(), T.serial(T.truncdiv(self.rows + (_ROWS - 1), T.int64(_ROWS))) as number:
                row = kept(first + T.min(number * _ROWS, self.rows - _ROWS))
                self._tile(row, column, _ROWS, size)
            with T.Else(), T.serial(self.rows) as row:
                self._tile(kept(first + row), column, 1, size)

    def _pack(self, start: Index, column: Index, size: int) -> None:
        lanes, left = self.isa.lanes, self.columns - column

        def copy(k: Index) -> None:
            for vector in range(size):
                place = (k * size + vector) * lanes
                value = self.rhs[T.ramp(start + k * self.columns + vector * lanes, 1, lanes)]
                T.buffer_store(self.packed, value, [T.ramp(place, 1, lanes)])

        if size > 1:
            with T.serial(self.depth) as k:
                copy(k)
            return
        with T.If(left >= T.int64(lanes)):
            with T.Then(), T.serial(self.depth) as k:
                copy(k)
            with T.Else(), T.serial(self.depth) as k, T.serial(lanes) as lane:
                source = start + k * self.columns + T.min(lane, left - 1)
                T.buffer_store(self.packed, self.rhs[source], [k * lanes + lane])

    def _tile(self, row: Index, column: Index, rows: int, size: int) -> None:
        lanes = self.isa.lanes
        sums, parts = ([local_vector(lanes, "float32") for _ in range(rows * size)] for _ in "12")
        start = kept(row * self.depth)

        def step(k: Index) -> None:
            places = [(k * size + vector) * lanes for vector in range(size)]
            values = [kept(self.packed[T.ramp(place, 1, lanes)]) for place in places]
            for number in range(rows):
                factor = kept(spread(self.lhs[start + number * self.depth + k], lanes))
                for value, part in zip(values, parts[number * size :], strict=False):
                    total = self.isa.multiply_add(factor, value, get_lanes(part, lanes))
                    set_lanes(part, total, lanes)

        zeros = splat("float32", 0.0, lanes)
        panel = kept(self._panel())
        for each in sums:
            set_lanes(each, zeros, lanes)
        with T.serial(T.truncdiv(self.depth + panel - 1, panel)) as number:
            for part in parts:
                set_lanes(part, zeros, lanes)
            begin = kept(number * panel)
            loop_between(begin, kept(T.min(begin + panel, self.depth)), step)
            is_whole = T.broadcast(self.depth <= panel, lanes)
            for each, part in zip(sums, parts, strict=True):
                own = get_lanes(part, lanes)  # as it is, if it is all: 0 + -0 is 0
                set_lanes(each, T.Select(is_whole, own, get_lanes(each, lanes) + own), lanes)
        for number in range(rows):
            target = kept((row + number) * self.columns + column)
            self._store(target, column, sums[number * size : (number + 1) * size])

    def _panel(self) -> Any:
        if not self.panel:
            return self.depth
        return T.if_then_else(self.rows > 1, T.int64(self.panel), self.depth)

    def _store(self, target: Index, column: Index, sums: list[Buffer]) -> None:
        lanes = self.isa.lanes

        def whole() -> None:
            for vector, each in enumerate(sums):
                place = T.ramp(target + vector * lanes, 1, lanes)
                T.buffer_store(self.output, get_lanes(each, lanes), [place])

        if len(sums) > 1:
            whole()
            return
        with T.If(column + lanes <= self.columns):
            with T.Then():
                whole()
            with T.Else():
                value = get_lanes(sums[0], lanes)
                T.buffer_store(self.edge, value, [T.ramp(0, 1, lanes)])
                with T.serial(self.columns - column) as lane:
                    T.buffer_store(self.output, self.edge[lane], [target + lane])
