"""Products of two matrices of open sizes, on x86 with products of bytes.

    for each product
      rows of lhs, each padded to whole K-steps
      for each block of columns
        weights = packed(block of rhs)
        for each tile of rows, as in a dense layer

A tile is written to a buffer of its own first, because the last block of columns may be narrower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.x86.dot.kernel import DotKernel
from legalize.kernels.conv2d.x86.dot.plan import DotPlan
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue, row_lanes
from legalize.kernels.conv2d.x86.pixels import Pixels
from legalize.kernels.ir.places import address, with_addresses
from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.tables import Table, Tables
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    as_unsigned,
    flipped,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    store_pieces,
)
from legalize.kernels.isa.x86_instructions import sum_lanes
from legalize.kernels.matmul.pack import SIDE, SQUARE
from qnn_ops.dialect.registry import TensorSpec
from qnn_ops.dialect.sizes import is_open

_COPIED = 64


class OpenKernel(DotKernel):
    """The writer of one function."""

    def __init__(
        self,
        plan: DotPlan,
        epilogues: list[Epilogue],
        operands: tuple[TensorSpec, TensorSpec],
        is_transposed: bool,
        zero_point: int,
        limit: int,
    ) -> None:
        """Write a function.

        Args:
            plan: the plan of a block of columns, with its tile.
            epilogues: two epilogues of tiles: for sums within a limit, and for any sums.
            operands: shapes and dtypes of lhs and rhs.
            is_transposed: whether the columns of rhs are rows in memory.
            zero_point: the zero point of rhs as int8.
            limit: the largest depth for the first epilogue.
        """
        self.epilogues = epilogues
        self.limit = limit
        self.operands = operands
        self.is_transposed = is_transposed
        self.zero_point_of_weights = zero_point
        self.section = plan.tiling[0]
        self.block = self.section.nr * plan.products.lanes
        super().__init__(plan, epilogues[0])

    def _task_count(self) -> int:
        return 1

    def build(self) -> tirx.PrimFunc:
        """Write the function."""
        with IRBuilder() as builder, T.prim_func(s_tir=True):
            T.func_name("matmul")
            T.func_attr({"global_symbol": "matmul", "tirx.noalias": False})
            self._declare()
            with with_addresses(), T.serial(self.batches) as batch:
                self._product(batch)
        return builder.get()

    def _declare(self) -> None:
        left, right = self.operands
        own: dict[str, Any] = {}

        def size_of(size: Any) -> Any:
            if not is_open([size]):
                return T.int64(size)
            return own.setdefault(str(size), tirx.Var("size", "int64"))

        left_shape, right_shape = (list(map(size_of, each.shape)) for each in (left, right))
        self.tables, lanes, vectors = Tables(), self.isa.lanes, self.section.nr
        lhs = T.arg("lhs", T.buffer(left_shape, left.dtype))
        rhs = T.arg("rhs", T.buffer(right_shape, right.dtype))
        self.ways = []
        for epilogue in self.epilogues:
            addends = self.tables.parameter("addends", (vectors, lanes), "int32")
            constants = []
            for number, (dtype, count) in enumerate(epilogue.constants):
                width = row_lanes(dtype, lanes)
                table = self.tables.parameter(f"rescale_{number}", (vectors, count, width), dtype)
                constants.append((table, width))
            self.ways.append((epilogue, addends, constants))
        *outer, self.rows, self.depth = left_shape
        self.columns = right_shape[-2 if self.is_transposed else -1]
        out_shape = [*outer, self.rows, self.columns]
        output = T.arg("output", T.buffer(out_shape, self.spec.output.dtype))
        self.tables.flatten()
        self.batches: Any = T.int64(1)
        for size in outer:
            self.batches = self.batches * size

        def flat(buffer: Buffer, *sizes: Any) -> Buffer:
            whole = self.batches
            for size in sizes:
                whole = whole * size
            return T.decl_buffer((whole,), buffer.dtype, data=buffer.data)

        self.lhs, self.rhs = flat(lhs, self.rows, self.depth), flat(rhs, self.columns, self.depth)
        self.output = flat(output, self.rows, self.columns)
        self.addend = self.sums = None

    def _product(self, batch: Index) -> None:
        """Write one product."""
        # Sizes of buffers must not read buffers.
        k_steps = T.truncdiv(self.depth + (SIDE - 1), T.int64(SIDE))
        self.source = T.alloc_buffer((self.rows * k_steps * SIDE,), "uint8", scope="global")
        self.row_sums = T.alloc_buffer((self.rows,), "int32", scope="global")
        self.weights = T.alloc_buffer((k_steps * self._step,), "int8", scope="global")
        size = self.section.mr * self.block
        self.target = T.alloc_buffer((size,), self.spec.output.dtype, scope="global")
        self.bias = Table.allocated((self.section.nr, self.isa.lanes), "int32")
        self.k_steps = kept(k_steps)
        self.pitch = kept(self.k_steps * SIDE)
        first = kept(batch * self.rows)
        with T.serial(self.rows) as row:
            self._stage(first + row, row)
        blocks = T.truncdiv(self.columns + (self.block - 1), T.int64(self.block))
        with T.serial(blocks) as block:
            column = kept(block * self.block)
            self._pack(kept(batch * self.columns * self.depth), column)
            with T.serial(self.section.nr) as number:
                self._add_up(number)
            self._rows_of(first, column)

    @property
    def _step(self) -> int:
        return self.block * SIDE

    def _stage(self, source: Index, row: Index) -> None:
        """Write the copy of a row, and the sum of its values."""
        start, place = kept(source * self.depth), kept(row * self.pitch)
        whole = kept(T.truncdiv(self.depth, T.int64(_COPIED)))

        def copy(offset: Index, lanes: int) -> None:
            value = as_unsigned(self.lhs[ramp(start + offset, lanes)], self.lhs.dtype)
            T.buffer_store(self.source, value, [ramp(place + offset, lanes)])

        with T.serial(whole) as piece:
            copy(piece * _COPIED, _COPIED)
        _rest(self.depth, _COPIED, copy)
        with T.serial(self.pitch - self.depth) as rest:
            T.buffer_store(self.source, T.uint8(0), [place + self.depth + rest])
        if self.zero_point_of_weights:
            T.buffer_store(self.row_sums, self._sum(place), [row])

    def _sum(self, place: Index) -> Vector:
        """Return the sum of a row of ``source``, whose padding is 0."""
        lanes = self.isa.lanes
        size, ones = lanes * SIDE, T.broadcast(T.int8(1), lanes * SIDE)
        totals = [local_vector(lanes) for _ in range(2)]
        for total in totals:
            set_lanes(total, T.broadcast(T.int32(0), lanes), lanes)

        def add(total: Buffer, data: Vector) -> None:
            value = self.products.multiply_add(get_lanes(total, lanes), data, ones)
            set_lanes(total, value, lanes)

        whole = kept(T.truncdiv(self.pitch, T.int64(size)))
        with T.serial(whole) as piece:
            add(totals[0], self.source[T.ramp(place + piece * size, 1, size)])
        with T.serial(self.k_steps - whole * lanes) as step:
            offset = place + whole * size + step * SIDE
            add(totals[1], self.products.load_data(self.source, offset)[0])
        return sum_lanes(get_lanes(totals[0], lanes), lanes) + totals[1][0]

    def _pack(self, start: Index, first: Index) -> None:
        """Write the packing of a block of columns."""
        lanes, whole = self.isa.lanes, T.truncdiv(self.depth, T.int64(SIDE))
        for vector, size in store_pieces(self.section.nr):
            with T.serial(size) as v, T.serial(lanes // SIDE) as q:
                column = kept(first + vector * lanes + (size * q + v) * SIDE)
                at = kept(T.Cast("int64", (vector + v) * (lanes * SIDE) + q * SQUARE))

                def store(k: Index, square: Vector, at: Index = at) -> None:
                    place = T.ramp(k * self._step + at, 1, SQUARE)
                    T.buffer_store(self.weights, square, [place])

                with T.If(column + SIDE <= self.columns):
                    with T.Then():
                        with T.serial(whole) as k:
                            store(k, self._square(start, column, k * SIDE))
                        with T.serial(self.k_steps - whole):
                            store(whole, self._edge(start, column, whole * SIDE))
                    with T.Else(), T.If(column < self.columns):
                        with T.Then(), T.serial(self.k_steps) as k:
                            store(k, self._edge(start, column, k * SIDE))
                        with T.Else(), T.serial(self.k_steps) as k:
                            store(k, T.broadcast(T.int8(0), SQUARE))

    def _square(self, start: Index, column: Index, k: Index) -> Vector:
        sides = range(SIDE)
        if self.is_transposed:
            runs = [self.rhs[T.ramp(self._at(start, column + i, k), 1, SIDE)] for i in sides]
            square = T.Shuffle(runs, list(range(SQUARE)))
        else:
            runs = [self.rhs[T.ramp(self._at(start, column, k + j), 1, SIDE)] for j in sides]
            square = T.Shuffle(runs, [SIDE * j + i for i in sides for j in sides])
        if self.rhs.dtype == "int8":
            return square
        return T.reinterpret(f"int8x{SQUARE}", flipped(square))

    def _edge(self, start: Index, column: Index, k: Index) -> Vector:
        """Load a square at the matrix's edge; values beyond the edge are 0."""
        values = []
        for i, j in ((i, j) for i in range(SIDE) for j in range(SIDE)):
            is_there = T.And(column + i < self.columns, k + j < self.depth)
            value = self.rhs[
                self._at(start, T.min(column + i, self.columns - 1), T.min(k + j, self.depth - 1))
            ]
            if self.rhs.dtype == "uint8":
                value = T.reinterpret("int8", flipped(value))
            values.append(T.Select(is_there, value, T.int8(0)))
        return T.Shuffle(values, list(range(SQUARE)))

    def _at(self, start: Index, column: Index, k: Index) -> Index:
        within = column * self.depth + k if self.is_transposed else k * self.columns + column
        return start + within

    def _add_up(self, number: Index) -> None:
        """Write the bias of a vector of columns."""
        products, lanes = self.products, self.isa.lanes
        index = T.ramp(0, 1, lanes)
        bias, *others = (addends[number, index] for _, addends, _ in self.ways)
        for other in others:
            bias = T.Select(T.broadcast(self._is_short(), lanes), bias, other)
        point = self.spec.staged_zero_point
        both = point * self.zero_point_of_weights
        if both:
            constant = T.Cast("int32", self.depth) * T.int32(both)
            bias = bias + T.broadcast(constant, lanes)
        if point:
            total = local_vector(lanes)
            set_lanes(total, T.broadcast(T.int32(0), lanes), lanes)
            ones = T.broadcast(T.uint8(1), SIDE * lanes)
            with T.serial(self.k_steps) as k:
                place = k * self._step + number * (lanes * SIDE)
                factors = products.load_weights(self.weights, place)
                set_lanes(
                    total, products.multiply_add(get_lanes(total, lanes), ones, factors), lanes
                )
            bias = bias - get_lanes(total, lanes) * T.broadcast(T.int32(point), lanes)
        self.bias.store(bias, (number, T.ramp(0, 1, lanes)))

    def _is_short(self) -> Any:
        """Return whether no sum leaves the first epilogue's range."""
        return self.depth <= T.int64(self.limit)

    def _rows_of(self, first: Index, column: Index) -> None:
        """Write the loops over rows, once for each epilogue."""
        if len(self.ways) == 1:
            self._tiles_of(first, column)
            return
        with T.If(self._is_short()):
            with T.Then():
                self._tiles_of(first, column)
            with T.Else(), T.serial(self.rows) as row:
                self._take(1)
                self._rows_at(1, first, row, column)

    def _take(self, way: int) -> None:
        """Set the epilogue of the next tiles."""
        self.epilogue, _, self.constants = self.ways[way]
        self.zero_point = self.epilogue.zero_point_left

    def _tiles_of(self, first: Index, column: Index) -> None:
        """Write the loop over tiles; the last one overlaps the one before."""
        self._take(0)
        mr = self.section.mr
        with T.If(self.rows >= T.int64(mr)):
            with T.Then(), T.serial(T.truncdiv(self.rows + (mr - 1), T.int64(mr))) as number:
                row = kept(T.min(number * mr, self.rows - mr))
                self._rows_at(mr, first, row, column)
            with T.Else(), T.serial(self.rows) as row:
                self._rows_at(1, first, row, column)

    def _rows_at(self, mr: int, first: Index, row: Index, column: Index) -> None:
        """Write a tile."""
        nr, lanes, products = self.section.nr, self.isa.lanes, self.products
        acc = [[local_vector(lanes) for _ in range(nr)] for _ in range(mr)]
        for j in range(nr):
            bias = self.bias[j, T.ramp(0, 1, lanes)]
            for i in range(mr):
                start = bias
                if self.zero_point_of_weights:
                    excess = self.row_sums[row + i] * T.int32(self.zero_point_of_weights)
                    start = bias - T.broadcast(excess, lanes)
                set_lanes(acc[i][j], start, lanes)
        origins = [address((row + i) * self.pitch) for i in range(mr)]
        with T.serial(self.k_steps) as k:
            weights, offset = kept(k * self._step), kept(k * SIDE)
            for origin, vectors in zip(origins, acc, strict=True):
                (data,) = products.load_data(self.source, origin + offset)
                for j, vector in enumerate(vectors):
                    factors = products.load_weights(self.weights, weights + j * products.part_size)
                    total = products.multiply_add(get_lanes(vector, lanes), data, factors)
                    set_lanes(vector, total, lanes)
        self._finish(self.section, 0, Pixels.following(T.int64(0), mr), acc)
        for i in range(mr):
            self._copy_out(i, kept((first + row + i) * self.columns + column), column)

    def _copy_out(self, number: int, place: Index, column: Index) -> None:
        """Write the copy of a row of a tile to the result."""
        block = self.block

        def copy(offset: Index, lanes: int) -> None:
            value = self.target[ramp(number * block + offset, lanes)]
            T.buffer_store(self.output, value, [ramp(place + offset, lanes)])

        left = self.columns - column
        with T.If(left >= T.int64(block)):
            with T.Then():
                for vector, size in store_pieces(self.section.nr):
                    copy(vector * self.isa.lanes, size * self.isa.lanes)
            with T.Else():
                _rest(left, block, copy)


def _rest(count: Index, size: int, copy: Callable[[Index, int], None]) -> None:
    """Write the copies, by powers of two, of the rest behind pieces of a size."""
    width = 1 << ((size - 1).bit_length() - 1)
    while width:
        offset = kept(T.truncdiv(count, T.int64(2 * width)) * (2 * width))
        with T.If(T.bitwise_and(count, T.int64(width)) != T.int64(0)), T.Then():
            copy(offset, width)
        width //= 2
