"""The packing of the second matrix of a product of float32."""

from collections.abc import Callable
from typing import NamedTuple

from tvm.script.ir_builder import tirx as T

from legalize.kernels.float_matmul.spec import FloatMatmul, View
from legalize.kernels.ir.rows import columns_of, load_filled
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    splat,
    unsigned_min,
)


class Block(NamedTuple):
    """Some vectors of columns that a loop over tiles computes.

    Attributes:
        column: the first column.
        size: the number of vectors.
        is_last: whether the last column may be in the block.
    """

    column: Index
    size: int
    is_last: bool


class Packing:
    """Writes the loops that pack blocks of rhs.

    Attributes:
        spec: the product.
        rhs: a buffer of one axis.
        lanes: numbers in a vector.
    """

    spec: FloatMatmul
    rhs: Buffer
    lanes: int

    def start(self, view: View, product: Index) -> Index:
        """Return the offset of a product's matrix."""
        place, left = T.int32(0), product
        pairs = list(zip(self.spec.outer, self.spec.outer_strides(view), strict=True))
        for extent, stride in reversed(pairs):
            rest = T.truncdiv(left, extent)
            place = place + (left - rest * extent) * stride
            left = rest
        return place

    def pack(self, packed: Buffer, start: Index, block: Block, first: Index = 0) -> None:
        """Copy a block of rhs's columns, in the order of the tiles' loads.

        Args:
            packed: receives the block.
            start: the offset of the product's rhs.
            block: the columns.
            first: the vector of ``packed`` with which the block begins.
        """
        pack = self._pack_columns if self.spec.is_transposed else self._pack_rows
        pack(packed, start, block, first)

    def _pack_rows(self, packed: Buffer, start: Index, block: Block, first: Index) -> None:
        """Copy a block of rhs whose rows are neighbours in memory."""
        lanes, (column, size, _) = self.lanes, block
        with T.serial(self.spec.depth) as k:
            for vector in range(size):
                source = start + k * self.spec.rhs.strides[-2] + column + vector * lanes
                target = (first + k * size + vector) * lanes

                def copy(count: Index, source: Index = source, target: Index = target) -> None:
                    if isinstance(count, int):
                        value = load_filled(self.rhs, source, count, lanes)
                        T.buffer_store(packed, value, [T.ramp(target, 1, lanes)])
                        return
                    with T.serial(lanes) as lane:
                        value = self.rhs[source + T.min(lane, count - 1)]
                        T.buffer_store(packed, value, [target + lane])

                self.vector(column, vector, copy, is_last=vector == size - 1)

    def vector(
        self, column: Index, vector: int, write: Callable[[Index], None], *, is_last: bool
    ) -> None:
        """Write the code for a vector of a block that begins with a column.

        Args:
            column: the block's first column.
            vector: the vector's index in the block.
            write: writes the code for some of the vector's columns, the first ones.
            is_last: whether the last column may be in the vector.
        """
        columns, lanes = self.spec.columns, self.lanes
        rest = columns % lanes if isinstance(columns, int) else T.truncmod(columns, lanes)
        if rest == 0 or not is_last:
            write(lanes)
            return
        with T.If(column + (vector + 1) * lanes <= columns):
            with T.Then():
                write(lanes)
            with T.Else():
                write(rest)

    def _pack_columns(self, packed: Buffer, start: Index, block: Block, first: Index) -> None:
        """Transpose a block of rhs whose columns are neighbours in memory, square by square.

        The last square overlaps the one before. The last column is repeated past the end.
        """
        spec, lanes, (column, size, _) = self.spec, self.lanes, block
        with T.serial(size) as vector, T.serial(-(-spec.depth // lanes)) as number:
            k = unsigned_min(number * lanes, spec.depth - lanes)
            numbers = [
                unsigned_min(column + vector * lanes + i, spec.columns - 1) for i in range(lanes)
            ]
            places = [start + each * spec.rhs.strides[-1] + k for each in numbers]
            square = columns_of([kept(self.rhs[T.ramp(place, 1, lanes)]) for place in places])
            for i, row in enumerate(square):
                place = (first + (k + i) * size + vector) * lanes
                T.buffer_store(packed, row, [T.ramp(place, 1, lanes)])

    def least_end(self, packed: Buffer) -> Index:
        """Return the least depth at which sums may end: products of packed numbers with 0 are 0."""
        total, lanes = local_vector(self.lanes, "float32"), self.lanes
        set_lanes(total, splat("float32", 0.0, lanes), lanes)
        with T.serial(int(packed.shape[0]) // lanes) as number:
            value = packed[T.ramp(number * lanes, 1, lanes)] * splat("float32", 0.0, lanes)
            set_lanes(total, get_lanes(total, lanes) + value, lanes)
        is_finite = sum((total[lane] for lane in range(1, lanes)), total[0]) == T.float32(0)
        return kept(T.Select(is_finite, T.int32(0), T.int32(self.spec.depth)))
