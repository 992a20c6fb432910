"""Products of float32 matrices of open sizes.

    for each product, and block of columns
      packed = the block of rhs
      for each tile of rows
        for each panel of the depth
          sums += lhs · packed, one value of the depth after the other

The sums are those of the kernel for known sizes. The last tile of rows overlaps the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_matmul.spec import View
from legalize.kernels.ir.rows import columns_of
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
        left: lhs, [..., rows, depth].
        right: rhs, [..., depth, columns], with the same first axes.
        result: the output, [..., rows, columns].
        panel: number of products in a chain that is added up separately; 0 for one chain. A single
            row is always one chain.
    """

    isa: VectorIsa
    left: View
    right: View
    result: View
    panel: int

    def serves(self) -> bool:
        """Tell whether the kernel can read and write matrices with this layout in memory."""
        *_, depth, columns = (axis == len(self.right.shape) - 1 for axis in self.right.order)
        known = self.left.extents[-1]
        is_packed = columns or (depth and not is_open([known]) and known >= self.isa.lanes)
        return is_packed and self.result.order[-1] == len(self.result.shape) - 1

    def build(self) -> tirx.PrimFunc:
        """Write the function of lhs, rhs and the output."""
        with IRBuilder() as builder, T.prim_func(s_tir=True):
            T.func_name("float_matmul")
            T.func_attr({"global_symbol": "float_matmul", "tirx.noalias": True})
            self._declare()
            with T.serial(self.products) as product:
                self.starts = [kept(self._start(strides, product)) for strides in self.strides]
                self._product()
        return builder.get()

    def _declare(self) -> None:
        own: dict[str, Any] = {}

        def size_of(size: Any) -> Any:
            if not is_open([size]):
                return T.int64(size)
            return own.setdefault(str(size), tirx.Var("size", "int64"))

        views = {"lhs": self.left, "rhs": self.right, "output": self.result}
        shapes = [[size_of(size) for size in view.shape] for view in views.values()]
        given = [
            T.arg(name, T.buffer(shape, "float32"))
            for name, shape in zip(views, shapes, strict=True)
        ]
        self.lhs, self.rhs, self.output = (
            T.decl_buffer((prod(shape, start=T.int64(1)),), "float32", data=buffer.data)
            for shape, buffer in zip(shapes, given, strict=True)
        )
        self.strides = [
            [prod(shape[axis + 1 :], start=T.int64(1)) for axis in view.order]
            for view, shape in zip(views.values(), shapes, strict=True)
        ]
        *self.outer, self.rows, self.columns = (shapes[-1][axis] for axis in self.result.order)
        self.depth = shapes[0][self.left.order[-1]]
        self.products: Any = prod(self.outer, start=T.int64(1))

    def _start(self, strides: Sequence[Any], product: Index) -> Index:
        """Return the offset of a product's matrix."""
        place, left = T.int64(0), product
        for extent, stride in reversed(list(zip(self.outer, strides, strict=False))):
            place = place + T.truncmod(left, extent) * stride
            left = T.truncdiv(left, extent)
        return place

    def _product(self) -> None:
        """Write blocks of several vectors of columns, then of fewer, then of one."""
        lanes, most = self.isa.lanes, self.isa.registers // 8
        self.packed = T.alloc_buffer((self.depth * most * lanes,), "float32", scope="global")
        self.edge = T.alloc_buffer((lanes,), "float32", scope="global")
        begin: Any = T.int64(0)
        for size in range(most, 1, -1):
            whole = kept(T.truncdiv(self.columns - begin, T.int64(size * lanes)))
            with T.serial(whole) as block:
                self._block(kept(begin + block * (size * lanes)), size)
            begin = kept(begin + whole * (size * lanes))
        with T.serial(T.truncdiv(self.columns - begin + (lanes - 1), T.int64(lanes))) as block:
            self._block(kept(begin + block * lanes), 1)

    def _block(self, column: Index, size: int) -> None:
        """Write the tiles of a block of ``size`` vectors of columns."""
        is_plain = self.right.order[-1] == len(self.right.shape) - 1
        (self._pack_rows if is_plain else self._pack_columns)(column, size)
        with T.If(self.rows >= T.int64(_ROWS)):
            with T.Then(), T.serial(T.truncdiv(self.rows + (_ROWS - 1), T.int64(_ROWS))) as number:
                row = kept(T.min(number * _ROWS, self.rows - _ROWS))
                self._tile(row, column, _ROWS, size)
            with T.Else(), T.serial(self.rows) as row:
                self._tile(row, column, 1, size)

    def _pack_columns(self, column: Index, size: int) -> None:
        """Transpose a block of rhs whose columns are rows in memory, square by square.

        The last square overlaps the one before. The last column is repeated past the end.
        """
        lanes, start, stride = self.isa.lanes, self.starts[1], self.strides[1][-1]
        last = T.int64(self.left.extents[-1] - lanes)
        with T.serial(size) as vector, T.serial(-(-self.left.extents[-1] // lanes)) as number:
            k = kept(T.min(T.Cast("int64", number) * lanes, last))
            numbers = [
                T.min(column + vector * lanes + lane, self.columns - 1) for lane in range(lanes)
            ]
            places = [start + each * stride + k for each in numbers]
            square = columns_of([kept(self.rhs[T.ramp(place, 1, lanes)]) for place in places])
            for i, row in enumerate(square):
                place = ((k + i) * size + vector) * lanes
                T.buffer_store(self.packed, row, [T.ramp(place, 1, lanes)])

    def _pack_rows(self, column: Index, size: int) -> None:
        """Copy a block of rhs whose rows are rows in memory."""
        lanes, left, stride = self.isa.lanes, self.columns - column, self.strides[1][-2]
        start = kept(self.starts[1] + column)

        def copy(k: Index) -> None:
            for vector in range(size):
                place = (k * size + vector) * lanes
                value = self.rhs[T.ramp(start + k * stride + vector * lanes, 1, lanes)]
                T.buffer_store(self.packed, value, [T.ramp(place, 1, lanes)])

        if size > 1:
            with T.serial(self.depth) as k:
                copy(k)
            return
        with T.If(left >= T.int64(lanes)):
            with T.Then(), T.serial(self.depth) as k:
                copy(k)
            with T.Else(), T.serial(self.depth) as k, T.serial(lanes) as lane:
                source = start + k * stride + T.min(lane, left - 1)
                T.buffer_store(self.packed, self.rhs[source], [k * lanes + lane])

    def _tile(self, row: Index, column: Index, rows: int, size: int) -> None:
        lanes = self.isa.lanes
        *_, between, along = self.strides[0]
        start = kept(self.starts[0] + row * between)

        def step(k: Index, sums: list[Buffer]) -> None:
            places = [(k * size + vector) * lanes for vector in range(size)]
            values = [kept(self.packed[T.ramp(place, 1, lanes)]) for place in places]
            for number in range(rows):
                factor = kept(spread(self.lhs[start + number * between + k * along], lanes))
                for value, each in zip(values, sums[number * size :], strict=False):
                    total = self.isa.multiply_add(factor, value, get_lanes(each, lanes))
                    set_lanes(each, total, lanes)

        sums = self._zeros(rows * size)
        if self.panel:
            self._panels(sums, step)
        else:
            with T.serial(self.depth) as k:
                step(k, sums)
        for number in range(rows):
            target = kept(self.starts[2] + (row + number) * self.strides[2][-2] + column)
            self._store(target, column, sums[number * size : (number + 1) * size])

    def _zeros(self, count: int) -> list[Buffer]:
        """Write sums that begin at 0."""
        lanes = self.isa.lanes
        sums = [local_vector(lanes, "float32") for _ in range(count)]
        for each in sums:
            set_lanes(each, splat("float32", 0.0, lanes), lanes)
        return sums

    def _panels(self, sums: list[Buffer], step: Callable[[Index, list[Buffer]], None]) -> None:
        """Write the loop that adds up the chains of a tile."""
        lanes = self.isa.lanes
        panel = kept(T.if_then_else(self.rows > 1, T.int64(self.panel), self.depth))
        with T.serial(T.truncdiv(self.depth + panel - 1, panel)) as number:
            parts = self._zeros(len(sums))
            begin = kept(number * panel)
            end = kept(T.min(begin + panel, self.depth))
            loop_between(begin, end, lambda k: step(k, parts))
            is_whole = T.broadcast(self.depth <= panel, lanes)
            for each, part in zip(sums, parts, strict=True):
                own = get_lanes(part, lanes)  # one chain stays as it is: 0 + -0 would be 0
                set_lanes(each, T.Select(is_whole, own, get_lanes(each, lanes) + own), lanes)

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
