"""Products of float32 matrices, in tiles whose sums stay in registers.

    for each product, and block of columns          in parallel, if there is work for several
      packed = the block of rhs, its columns side by side
      for each tile of rows
        sums += lhs · packed, one value of the depth after the other
        output = sums

Each sum adds its products in the order of the depth, in one chain or in several chains, which are
then added up. Products are fused with their sums, as in TVM's loops, or are rounded first. The last
tile of rows overlaps the one before.

A size is a number, or a variable that each run decides. Then the code has blocks of every width,
and tiles of one row, too. A product of fewer than four rows reads rhs where it is. It packs a block
only if rhs is transposed, or if the block ends in a part of a vector.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial, reduce
from math import prod

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_matmul.pack import Block, Packing
from legalize.kernels.float_matmul.spec import LEAST_ROWS, FloatMatmul
from legalize.kernels.ir.arithmetic import magnitude_bits, rounded_apart
from legalize.kernels.ir.rows import store_lanes
from legalize.kernels.ir.sums import tile_size, zeros
from legalize.kernels.ir.tasks import loop_between, shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    get_lanes,
    kept,
    local_vector,
    reduced,
    set_lanes,
    spread,
    unsigned_min,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.written import arguments, new_function, own_sizes

MOST_ROWS = 6
# The approximate speed of one thread with vectors of 16 lanes.
_PRODUCTS_PER_MICROSECOND = 40_000


_Load = Callable[[Index], list[Vector]]
"""Loads a row of a block of columns."""


@cache
def float_matmul(isa: VectorIsa, spec: FloatMatmul) -> tirx.PrimFunc:
    """Build the function of a product.

    Returns:
        A function of lhs, rhs and the output, in their layouts in memory.
    """
    with new_function("float_matmul") as builder:
        TileKernel(isa, spec).write()
    return builder.get()


class TileKernel(Packing):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, isa: VectorIsa, spec: FloatMatmul, buffers: Sequence[Buffer] = ()) -> None:
        """Take lhs, rhs and the output as buffers of one axis; by default declare arguments."""
        self.isa, self.spec, self.lanes = isa, spec, isa.lanes
        self.lhs, self.rhs, self.target = buffers or self._arguments()

    def _arguments(self) -> list[Buffer]:
        spec = self.spec = self.spec.with_shapes(partial(own_sizes, own={}))
        views = {"lhs": spec.lhs, "rhs": spec.rhs, "output": spec.output}
        return arguments(**{name: (view.shape, "float32") for name, view in views.items()})

    def write(self) -> None:
        """Write blocks of as many vectors as registers hold, then the remaining columns."""
        spec = self.spec
        products = prod(spec.outer) * spec.rows * spec.columns * spec.depth
        tasks = self.task_count(products) if isinstance(products, int) else 1
        for first, blocks, size, is_last in self.sections():
            turn = self._block(first, blocks, size, is_last=is_last)
            shared_loop(tasks, prod(spec.outer) * blocks, turn)

    def task_count(self, products: int) -> int:
        """Choose how many tasks compute some products of floats."""
        return task_count(products / _PRODUCTS_PER_MICROSECOND * self.isa.size / 64)

    def sections(self) -> Iterator[tuple[Index, Index, int, bool]]:
        """Yield the sections of columns.

        Yields:
            The first vector, the number of blocks, the vectors of a block, and whether the last
            column may be in the section.
        """
        most = self.isa.registers // 8
        vectors = _ceil_div(self.spec.columns, self.lanes)
        if isinstance(vectors, int):
            whole, rest = divmod(vectors, most)
            if whole:
                yield 0, whole, most, not rest
            if rest:
                yield whole * most, 1, rest, True
            return
        whole = kept(T.truncdiv(vectors, most))
        rest = kept(vectors - whole * most)
        yield 0, whole, most, True
        for size in range(1, most):
            yield whole * most, T.Cast("int64", rest == size), size, True

    def _block(
        self, first: Index, blocks: Index, size: int, *, is_last: bool
    ) -> Callable[[Index], None]:
        """Return the function that writes the tiles of a block of ``size`` vectors of columns."""
        spec = self.spec

        def write(turn: Index) -> None:
            product = kept(T.truncdiv(turn, blocks))
            column = (first + (turn - product * blocks) * size) * self.lanes
            block = Block(column, size, is_last)
            lhs, rhs, output = (
                kept(self.start(view, product)) for view in (spec.lhs, spec.rhs, spec.output)
            )
            packed = T.alloc_buffer((spec.depth * size * self.lanes,), "float32", scope="global")

            def from_packed() -> None:
                self.pack(packed, rhs, block)
                least = self.least_end(packed) if spec.causal_depth else spec.depth
                load = self.packed_rows(packed, size)
                self._tiles(
                    lambda row, rows: self.tile(block, (lhs, output), least, load, row, rows)
                )

            if spec.is_transposed or (isinstance(spec.rows, int) and spec.rows >= LEAST_ROWS):
                from_packed()
                return
            is_direct = column + size * self.lanes <= spec.columns
            if not isinstance(spec.rows, int):
                is_direct = T.And(spec.rows < LEAST_ROWS, is_direct)
            with T.If(is_direct):
                with T.Then(), T.serial(spec.rows) as row:
                    begin, stride = kept(rhs + column), spec.rhs.strides[-2]
                    load = self._rows(
                        self.rhs, size, lambda k, vector: begin + k * stride + vector * self.lanes
                    )
                    self.tile(block, (lhs, output), spec.depth, load, row, 1)
                with T.Else():
                    from_packed()

        return write

    def packed_rows(self, packed: Buffer, size: int, first: Index = 0) -> _Load:
        """Return what loads the rows of a packed block that begins with a vector of the buffer."""
        # With k · size · lanes as a term of its own LLVM keeps sums in memory.
        return self._rows(packed, size, lambda k, vector: (first + k * size + vector) * self.lanes)

    def _rows(self, buffer: Buffer, size: int, place: Callable[[Index, int], Index]) -> _Load:
        return lambda k: [
            kept(buffer[T.ramp(place(k, vector), 1, self.lanes)]) for vector in range(size)
        ]

    def tile(
        self,
        block: Block,
        starts: tuple[Index, Index],
        least: Index,
        load: _Load,
        row: Index,
        rows: int,
    ) -> None:
        """Write a tile of a block.

        Args:
            block: the columns.
            starts: the offsets of the product's lhs and output.
            least: from ``least_end``.
            load: loads a row of the block.
            row: the first row.
            rows: the number of rows.
        """
        spec, (lhs, output), (column, size, is_last) = self.spec, starts, block

        def first_vectors(count: int) -> None:
            start = kept(lhs + row * spec.lhs.strides[-2])
            end = self._end(least, start, row, rows)
            sums = self._sums(lambda k: load(k)[:count], start, rows, count, end)
            place = output + row * spec.output.strides[-2] + column
            self._store(sums, place, column, is_last=is_last and count == size)

        if not spec.causal_columns:
            first_vectors(size)
            return
        seen = kept(T.truncmod(row, T.int32(spec.causal_columns)) + rows - column)
        # A tile that sees at most half of the block's columns computes only these.
        half = size // 2 * self.lanes
        with T.If(seen > half), T.Then():
            first_vectors(size)
        if half:
            with T.If(T.And(seen > 0, seen <= half)), T.Then():
                first_vectors(size // 2)

    def _tiles(self, tile: Callable[[Index, int], None]) -> None:
        """Write the loop over tiles; ``tile`` writes one, given its first row and their number."""
        rows = self.spec.rows

        def loop(size: int) -> None:
            with T.serial(_ceil_div(rows, size)) as number:
                tile(unsigned_min(number * size, rows - size), size)

        if isinstance(rows, int):
            loop(tile_size(rows, MOST_ROWS))
            return
        with T.If(rows >= MOST_ROWS):
            with T.Then():
                loop(MOST_ROWS)
            with T.Else():
                loop(1)

    def _end(self, least: Index, start: Index, row: Index, rows: int) -> Index:
        """Return the depth at which the sums of a tile end: only zeros of lhs follow.

        The numbers after a row's own are equal. If the last one is not 0, the sums go on.
        """
        depth, strides = self.spec.depth, self.spec.lhs.strides
        if not self.spec.causal_depth:
            return depth
        lasts = [
            self.lhs[start + number * strides[-2] + (depth - 1) * strides[-1]]
            for number in range(rows)
        ]
        own = T.truncmod(row, T.int32(self.spec.causal_depth)) + rows
        end = T.min(T.max(own, least), T.int32(depth))
        are_zeros = reduce(T.And, (last == T.float32(0) for last in lasts))
        return kept(T.Select(are_zeros, end, T.int32(depth)))

    def _sums(
        self, load: _Load, start: Index, rows: int, size: int, end: Index
    ) -> list[list[Index]]:
        """Write the loop of a tile, and return the buffers of its sums, row by row.

        One chain ends at ``end``.
        """
        depth, panel = self.spec.depth, self._panel()
        sums = zeros(rows, size, self.lanes)
        if panel is None:
            with T.serial(end) as k:
                self._step(load, start, k, sums)
            if self.spec.causal_depth:  # -0 + 0 would be 0
                sizes = [magnitude_bits(get_lanes(e, self.lanes)) for row in sums for e in row]
                has_zero = reduced("min", reduce(T.min, sizes)) == 0
                stop = kept(T.Select(has_zero, T.int32(depth), end))
                loop_between(end, stop, lambda k: self._step(load, start, k, sums))
            return sums
        with T.serial(_ceil_div(depth, panel)) as number:
            begin, parts = number * panel, zeros(rows, size, self.lanes)
            end = T.min(begin + panel, depth)
            loop_between(begin, end, lambda k: self._step(load, start, k, parts))
            for row, own in zip(sums, parts, strict=True):
                for each, part in zip(row, own, strict=True):
                    value = get_lanes(part, self.lanes)
                    total = get_lanes(each, self.lanes) + value
                    if not isinstance(depth, int) or not isinstance(panel, int):
                        # One chain stays as it is: 0 + -0 would be 0.
                        total = T.Select(T.broadcast(depth <= panel, self.lanes), value, total)
                    set_lanes(each, total, self.lanes)
        return sums

    def _panel(self) -> Index | None:
        """Return the number of products of a chain; None if there is one chain."""
        rows, depth, panel = self.spec.rows, self.spec.depth, self.spec.panel
        if not panel or (isinstance(depth, int) and depth <= panel):
            return None
        if isinstance(rows, int):
            return panel if rows > 1 else None
        return kept(T.if_then_else(rows > 1, T.int64(panel), T.Cast("int64", depth)))

    def _step(self, load: _Load, start: Index, k: Index, sums: list[list[Index]]) -> None:
        """Add a product to each sum of a tile."""
        spec, lanes, values = self.spec, self.lanes, load(k)
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
        lanes = self.lanes
        for number, row in enumerate(sums):
            for vector, each in enumerate(row):
                place = start + number * self.spec.output.strides[-2] + vector * lanes
                value = get_lanes(each, lanes)

                def store(count: Index, place: Index = place, value: Vector = value) -> None:
                    if isinstance(count, int):
                        store_lanes(self.target, value, 0, place, count)
                        return
                    copy = local_vector(lanes, "float32")
                    set_lanes(copy, value, lanes)
                    with T.serial(count) as lane:
                        T.buffer_store(self.target, copy[lane], [place + lane])

                self.vector(column, vector, store, is_last=is_last and vector == len(row) - 1)


def _ceil_div(value: Index, divisor: Index) -> Index:
    """Return a quotient, rounded up."""
    if isinstance(value, int) and isinstance(divisor, int):
        return -(-value // divisor)
    return T.truncdiv(value + (divisor - 1), divisor)
