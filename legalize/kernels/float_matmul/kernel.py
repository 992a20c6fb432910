"""Products of float32 matrices, in tiles whose sums stay in registers.

    for each product, and block of columns          in parallel, if there is work for several
      packed = the block of rhs, its columns side by side
      for each tile of rows
        sums += lhs · packed, one value of the depth after the other
        output = sums

Each sum adds its products in the order of the depth, in one chain or in several chains, which are
then added up. Products are fused with their sums, as in TVM's loops, or are rounded first. The last
tile of rows overlaps the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_matmul.spec import FloatMatmul, View
from legalize.kernels.ir.arithmetic import rounded_apart
from legalize.kernels.ir.rows import columns_of, load_filled, store_lanes
from legalize.kernels.ir.tasks import loop_between, shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    splat,
    spread,
    unsigned_min,
)
from legalize.kernels.isa.base import VectorIsa

_MOST_ROWS = 6
# The approximate speed of one thread with vectors of 16 lanes.
_PRODUCTS_PER_MICROSECOND = 40_000


def tile_rows(rows: int) -> int:
    """Choose a tile's number of rows, for few repeated rows and few loads for each product."""
    sizes = range(1, min(rows, _MOST_ROWS) + 1)
    return min(sizes, key=lambda size: (-(-rows // size) * (size + 1), -size))


@cache
def float_matmul(isa: VectorIsa, spec: FloatMatmul) -> tirx.PrimFunc:
    """Build the function of a product.

    Returns:
        A function of lhs, rhs and the output, in their layouts in memory.
    """
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("float_matmul")
        T.func_attr({"global_symbol": "float_matmul", "tirx.noalias": True})
        TileKernel(isa, spec).write()
    return builder.get()


class TileKernel:
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, isa: VectorIsa, spec: FloatMatmul) -> None:
        self.isa, self.spec, self.lanes = isa, spec, isa.lanes
        self._declare()

    def _declare(self) -> None:
        """Declare the arguments, and their buffers of one axis."""
        spec = self.spec
        views = {"lhs": spec.lhs, "rhs": spec.rhs, "output": spec.output}
        buffers = [T.arg(name, T.buffer(view.shape, "float32")) for name, view in views.items()]
        self.lhs, self.rhs, self.target = (
            T.decl_buffer((view.size,), "float32", data=buffer.data)
            for view, buffer in zip(views.values(), buffers, strict=True)
        )

    def write(self) -> None:
        """Write blocks of as many vectors as registers hold, then the remaining columns."""
        spec = self.spec
        products = prod(spec.outer) * spec.rows * spec.columns * spec.depth
        tasks = task_count(products / _PRODUCTS_PER_MICROSECOND * self.isa.size / 64)
        most = self.isa.registers // 8
        vectors = -(-spec.columns // self.lanes)
        whole, rest = divmod(vectors, most)
        for first, blocks, size in ((0, whole, most), (whole * most, 1, rest)):
            if blocks and size:
                turn = self._block(first, blocks, size)
                shared_loop(tasks, prod(spec.outer) * blocks, turn)

    def _block(self, first: int, blocks: int, size: int) -> Callable[[Index], None]:
        """Return the function that writes the tiles of a block of ``size`` vectors of columns."""
        spec = self.spec

        def write(turn: Index) -> None:
            product = kept(T.truncdiv(turn, T.int32(blocks)))
            column = (first + (turn - product * blocks) * size) * self.lanes
            lhs, rhs, output = (
                kept(self._start(view, product)) for view in (spec.lhs, spec.rhs, spec.output)
            )
            packed = T.alloc_buffer((spec.depth * size * self.lanes,), "float32", scope="global")
            self._pack(packed, rhs, column, size)
            rows = tile_rows(spec.rows)
            with T.serial(-(-spec.rows // rows)) as number:
                row = unsigned_min(number * rows, spec.rows - rows)
                sums = self._sums(packed, lhs + row * spec.lhs.strides[-2], rows, size)
                place = output + row * spec.output.strides[-2] + column
                is_last = first + blocks * size == -(-spec.columns // self.lanes)
                self._store(sums, place, column, is_last=is_last)

        return write

    def _start(self, view: View, product: Index) -> Index:
        """Return the offset of a product's matrix."""
        place, left = T.int32(0), product
        pairs = list(zip(self.spec.outer, self.spec.outer_strides(view), strict=True))
        for extent, stride in reversed(pairs):
            rest = T.truncdiv(left, T.int32(extent))
            place = place + (left - rest * extent) * stride
            left = rest
        return place

    def _pack(self, packed: Buffer, start: Index, column: Index, size: int) -> None:
        """Copy a block of ``size`` vectors of rhs's columns, in the order of the tiles' loads."""
        pack = self._pack_columns if self.spec.is_transposed else self._pack_rows
        pack(packed, start, column, size)

    def _pack_rows(self, packed: Buffer, start: Index, column: Index, size: int) -> None:
        """Copy a block of rhs whose rows are neighbours in memory."""
        spec, lanes = self.spec, self.lanes
        rest = spec.columns % lanes

        def copy(k: Index, vector: Index, count: int) -> None:
            source = start + k * spec.rhs.strides[-2] + column + vector * lanes
            value = load_filled(self.rhs, source, count, lanes)
            T.buffer_store(packed, value, [T.ramp((k * size + vector) * lanes, 1, lanes)])

        with T.serial(spec.depth) as k:
            for vector in range(size):
                if not rest or vector < size - 1:
                    copy(k, T.int32(vector), lanes)
                    continue
                with T.If(column + (vector + 1) * lanes <= spec.columns):
                    with T.Then():
                        copy(k, T.int32(vector), lanes)
                    with T.Else():
                        copy(k, T.int32(vector), rest)

    def _pack_columns(self, packed: Buffer, start: Index, column: Index, size: int) -> None:
        """Transpose a block of rhs whose columns are neighbours in memory, square by square.

        The last square overlaps the one before. The last column is repeated past the end.
        """
        spec, lanes = self.spec, self.lanes
        with T.serial(size) as vector, T.serial(-(-spec.depth // lanes)) as number:
            k = unsigned_min(number * lanes, spec.depth - lanes)
            numbers = [
                unsigned_min(column + vector * lanes + i, spec.columns - 1) for i in range(lanes)
            ]
            places = [start + each * spec.rhs.strides[-1] + k for each in numbers]
            square = columns_of([kept(self.rhs[T.ramp(place, 1, lanes)]) for place in places])
            for i, row in enumerate(square):
                place = ((k + i) * size + vector) * lanes
                T.buffer_store(packed, row, [T.ramp(place, 1, lanes)])

    def _sums(self, packed: Buffer, start: Index, rows: int, size: int) -> list[list[Index]]:
        """Write the loop of a tile, and return the buffers of its sums, row by row."""
        depth, panel = self.spec.depth, self.spec.panel
        sums = self._zeros(rows, size)
        if not 0 < panel < depth:
            with T.serial(depth) as k:
                self._step(packed, start, k, sums)
            return sums
        with T.serial(-(-depth // panel)) as number:
            begin, parts = number * panel, self._zeros(rows, size)
            end = T.min(begin + panel, depth)
            loop_between(begin, end, lambda k: self._step(packed, start, k, parts))
            for row, own in zip(sums, parts, strict=True):
                for each, part in zip(row, own, strict=True):
                    total = get_lanes(each, self.lanes) + get_lanes(part, self.lanes)
                    set_lanes(each, total, self.lanes)
        return sums

    def _zeros(self, rows: int, size: int) -> list[list[Index]]:
        """Write sums that begin at 0."""
        sums = [[local_vector(self.lanes, "float32") for _ in range(size)] for _ in range(rows)]
        for each in (each for row in sums for each in row):
            set_lanes(each, splat("float32", 0.0, self.lanes), self.lanes)
        return sums

    def _step(self, packed: Buffer, start: Index, k: Index, sums: list[list[Index]]) -> None:
        """Add a product to each sum of a tile."""
        spec, lanes, size = self.spec, self.lanes, len(sums[0])
        places = [(k * size + vector) * lanes for vector in range(size)]
        values = [kept(packed[T.ramp(place, 1, lanes)]) for place in places]
        for number, row in enumerate(sums):
            place = start + number * spec.lhs.strides[-2] + k * spec.lhs.strides[-1]
            factor = kept(spread(self.lhs[place], lanes))
            for value, each in zip(values, row, strict=True):
                total = get_lanes(each, lanes)
                if spec.is_fused:
                    total = self.isa.multiply_add(factor, value, total)
                else:
                    total = total + rounded_apart(factor * value)
                set_lanes(each, total, lanes)

    def _store(
        self, sums: list[list[Index]], start: Index, column: Index, *, is_last: bool
    ) -> None:
        """Store a tile. Lanes past the last column are not stored."""
        spec, lanes = self.spec, self.lanes
        rest = spec.columns % lanes
        for number, row in enumerate(sums):
            for vector, each in enumerate(row):
                place = start + number * spec.output.strides[-2] + vector * lanes
                value = get_lanes(each, lanes)
                if not rest or not is_last or vector < len(row) - 1:
                    T.buffer_store(self.target, value, [T.ramp(place, 1, lanes)])
                    continue
                with T.If(column + (vector + 1) * lanes <= spec.columns):
                    with T.Then():
                        T.buffer_store(self.target, value, [T.ramp(place, 1, lanes)])
                    with T.Else():
                        store_lanes(self.target, value, 0, place, rest)
