"""Products of two matrices of open sizes, on x86 with products of bytes.

    for each product
      rows of lhs, each padded to whole K-steps
      for each block of columns
        weights = packed(block of rhs)
        for each tile of rows, as in a dense layer

A tile is written to a buffer of its own first, because the last block of columns may be narrower.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.constants import deal
from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.dot.plan import DotPlan, products_of
from legalize.kernels.conv2d.x86.epilogue.base import Scales
from legalize.kernels.conv2d.x86.epilogue.choose import choose_epilogue
from legalize.kernels.conv2d.x86.epilogue.steps import MAX_ACCUMULATOR
from legalize.kernels.conv2d.x86.pixels import Pixels
from legalize.kernels.conv2d.x86.tiling import lane_channels, registers_of
from legalize.kernels.ir.places import address
from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.tasks import TYPICAL_ROWS
from legalize.kernels.ir.vectors import (
    Array,
    Buffer,
    Expr,
    Index,
    Sums,
    Vector,
    as_unsigned,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    store_pieces,
)
from legalize.kernels.isa.x86 import Isa
from legalize.kernels.isa.x86_instructions import sum_lanes
from legalize.kernels.matmul.pack import SIDE, Layout, Packer
from legalize.kernels.matmul.spec import MatmulCall
from legalize.kernels.matmul.x86 import MatmulKernel
from legalize.written import flat
from qnn_ops.dialect.sizes import is_open

_TYPICAL_DEPTH = 64
_MOST_NR, _MOST_MR = 4, 12
_ANY = 2**31 - 1
_COPIED = 64


def open_matmul(call: MatmulCall, isa: Isa) -> tuple[tirx.PrimFunc, tuple[Array, ...]]:
    """Return the function of a product of open sizes, and the constants that it takes.

    Blocks of columns are planned as dense layers of typical sizes. An open depth needs two
    epilogues: for sums within a limit, and for any sums.
    """
    spec = call.spec
    nr = _MOST_NR if is_open([spec.columns]) else min(_MOST_NR, isa.vectors(spec.columns))
    channels, has_open_depth = nr * isa.lanes, is_open([spec.depth])
    shape = TYPICAL_ROWS, _TYPICAL_DEPTH if has_open_depth else spec.depth
    block = replace(spec, lhs_shape=shape, rhs_shape=(channels, shape[1]), is_transposed=True)
    dense = block.dense("uint8")
    products = products_of(dense, isa)
    mr = max(mr for mr in range(1, _MOST_MR + 1) if registers_of(products, nr, mr) <= isa.registers)
    tile = Section(0, 1, nr, mr)
    lanes = lane_channels(dense, isa, (tile,))
    # All columns have the same multiplier.
    numbers = (call.multiplier[:1], call.shift[:1], call.bias[:1])
    multiplier, shift, bias = (np.repeat(each, channels) for each in numbers)
    bounds = [MAX_ACCUMULATOR - 1, _ANY] if has_open_depth else [spec.depth * spec.largest]
    ways = [
        choose_epilogue(dense.output, Scales(multiplier, shift, bias, bound), lanes)
        for bound in bounds
    ]
    constants: list[Array] = []
    for chosen in ways:
        constants += [deal((bias + chosen.offset).astype(np.int32), lanes), *chosen.arrays]
    plan = DotPlan(dense, products, (tile,), 0.0)
    kernel = _Kernel(spec, plan, *(each.epilogue for each in ways))
    return kernel.build(), tuple(constants)


class _Kernel(MatmulKernel):
    """The writer of one function."""

    def _task_count(self) -> int:
        return 1

    def _declare(self) -> None:
        self.lhs, self.rhs, self.output = map(flat, self._arguments())
        self.rows, self.columns, self.depth = map(
            _as_expr, (self.matmul.rows, self.matmul.columns, self.matmul.depth)
        )
        self.section = self.tiling[0]
        self.block = self.section.nr * self.isa.lanes
        size = self.section.mr * self.block
        self.target = T.alloc_buffer((size,), self.spec.output.dtype, scope="global")
        self.bias = Table.allocated((self.section.nr, self.isa.lanes), "int32")
        self.vector_stride = 0

    def _layout(self) -> Layout:
        return Layout(self.tiling, self.isa.lanes, None)

    def _product(self, batch: Index) -> None:
        """Write one product."""
        # Sizes of buffers must not read buffers.
        k_steps = T.truncdiv(self.depth + (SIDE - 1), T.int64(SIDE))
        self.source = T.alloc_buffer((self.rows * k_steps * SIDE,), "uint8", scope="global")
        if self.matmul.signed_zero_point:
            self.sums = T.alloc_buffer((self.rows,), "int32", scope="global")
        size = k_steps * (self.block * SIDE)
        self.weights = T.alloc_buffer((size,), "int8", scope="global")
        self.k_steps = kept(k_steps)
        self.pitch = kept(self.k_steps * SIDE)
        first = kept(batch * self.rows)
        with T.serial(self.rows) as row:
            self._stage(first + row, row)
        spec = self.matmul.with_shapes(lambda shape: tuple(map(_as_expr, shape)))
        packer = Packer(spec, self._layout(), self.rhs, self._store)
        start = kept(batch * self.columns * self.depth)
        with T.serial(T.truncdiv(self.columns + (self.block - 1), T.int64(self.block))) as block:
            packer.block(self.section, start, block * self.section.nr, 0)
            self._add_up(self.section, 0, self.isa.lanes)
            self.place_of_block = first, kept(block * self.block)
            self._rows_of_block()

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
        if self.sums is not None:
            total = self._sum(place) * T.int32(self.matmul.signed_zero_point)
            T.buffer_store(self.sums, total, [row])

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

    def _addends(self, place: tuple[Index, Index]) -> Vector:
        """Return the constants of the epilogue that sums of this depth take."""
        lanes = self.isa.lanes
        bias, *others = (addends[place] for _, addends, _ in self.ways)
        for other in others:
            bias = T.Select(T.broadcast(self._is_short(), lanes), bias, other)
        points = self.spec.staged_zero_point * self.matmul.signed_zero_point
        return bias + T.broadcast(T.Cast("int32", self.depth) * T.int32(points), lanes)

    def _is_short(self) -> Expr:
        """Return whether no sum leaves the first epilogue's range."""
        return self.depth <= T.int64((MAX_ACCUMULATOR - 1) // self.matmul.largest)

    def _rows_of_block(self) -> None:
        """Write the loops over tiles, once for each epilogue; the last tile overlaps."""
        self._take(0)
        if len(self.ways) == 1:
            self._tiles_of_block()
            return
        with T.If(self._is_short()):
            with T.Then():
                self._tiles_of_block()
            with T.Else():
                self._take(1)
                self._single_rows()

    def _tiles_of_block(self) -> None:
        mr = self.section.mr
        with T.If(self.rows >= T.int64(mr)):
            with T.Then(), T.serial(T.truncdiv(self.rows + (mr - 1), T.int64(mr))) as number:
                self._tile(self.section, 0, kept(T.min(number * mr, self.rows - mr)))
            with T.Else():
                self._single_rows()

    def _single_rows(self) -> None:
        with T.serial(self.rows) as row:
            self._tile(replace(self.section, mr=1), 0, row)

    def _accumulate(self, section: Section, first_vector: Index, first: Index, acc: Sums) -> None:
        del first_vector
        products, lanes = self.products, self.isa.lanes
        origins = [address((first + i) * self.pitch) for i in range(section.mr)]
        with T.serial(self.k_steps) as k:
            weights, offset = kept(k * (self.block * SIDE)), kept(k * SIDE)
            for origin, vectors in zip(origins, acc, strict=True):
                (data,) = products.load_data(self.source, origin + offset)
                for j, vector in enumerate(vectors):
                    factors = products.load_weights(self.weights, weights + j * products.part_size)
                    total = products.multiply_add(get_lanes(vector, lanes), data, factors)
                    set_lanes(vector, total, lanes)

    def _finish(
        self,
        section: Section,
        first_vector: Index,
        pixels: Pixels,
        acc: Sums,
        conditions: Sequence[Expr] = (),
        targets: Sequence[Index] = (),
    ) -> None:
        """Write a tile, and copy it to the result."""
        own, (first, column) = Pixels.following(T.int64(0), section.mr), self.place_of_block
        super()._finish(section, first_vector, own, acc, conditions, targets)
        for i, row in enumerate(pixels.numbers):
            self._copy_out(i, kept((first + row) * self.columns + column), column)

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


def _as_expr(size: Any) -> Any:
    return T.int64(size) if isinstance(size, int) else size
