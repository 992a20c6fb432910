"""The packing of a matrix whose values are known only at run time.

Its layout is that of a convolution's weights. Four columns × the four values of a K-step make a
square of 16 bytes, a part of a vector. Columns are distributed to the lanes of neighbouring
vectors so that narrowing to bytes restores their order: see conv2d/x86/tiling.py. With four lanes
they stay in order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section, Tiling
from legalize.kernels.ir.vectors import (
    Array,
    Buffer,
    Index,
    Vector,
    flipped,
    kept,
    splat,
    store_pieces,
    unsigned_min,
)
from legalize.kernels.matmul.spec import MatmulSpec

SIDE = 4
"""Columns of a square, and values of each column."""
SQUARE = SIDE * SIDE


@dataclass(frozen=True)
class Layout:
    """The order of a packed matrix.

    Attributes:
        tiling: the sections of columns.
        lanes: lanes of a vector.
        places: the indices of a column's values in each K-step, [K-steps, 4]: neighbours. The first
            ones may be -1, if the K-step before took these values. None if the K-steps are in
            order; the last one has zeros past the depth.
        filler: the value in place of -1: the zero point, if it is subtracted later.
    """

    tiling: Tiling
    lanes: int
    places: Array | None
    filler: int = 0

    @property
    def vectors(self) -> int:
        """Vectors that hold a value for each column."""
        last = self.tiling[-1]
        return last.first_vector + last.blocks * last.nr

    @property
    def vector_stride(self) -> int:
        """Values of a vector's columns."""
        assert self.places is not None
        return len(self.places) * self.lanes * SIDE


Store = Callable[[Vector, Index, Index], None]
"""Writes a square, int8x16 by column, into a vector of a K-step.

The arguments are the square, the vector's offset, and the square's index in the vector.
"""


@dataclass(frozen=True)
class Packer:
    """Writes the loops that pack matrices.

    Attributes:
        spec: the product; its sizes are numbers or TVM expressions.
        layout: the packed matrix's layout.
        rhs: all matrices as one row, of ``spec.rhs_dtype``.
        store: writes a square.
    """

    spec: MatmulSpec
    layout: Layout
    rhs: Buffer
    store: Store

    def pack(self, batch: Index) -> None:
        """Write the loops over one matrix."""
        start = batch * prod(self.spec.rhs_shape[-2:])
        for section in self.layout.tiling:
            with T.serial(section.blocks) as block:
                vector = section.first_vector + block * section.nr
                self.block(section, start, vector, vector * self.layout.vector_stride)

    def block(self, section: Section, start: Index, vector: Index, offset: Index) -> None:
        """Write the loops over a block of columns.

        Args:
            section: the section of the block.
            start: the matrix's offset in ``rhs``.
            vector: the block's first vector of columns.
            offset: the packed block's offset.
        """
        for first, size in store_pieces(section.nr):
            with T.serial(size) as v, T.serial(self.layout.lanes // SIDE) as q:
                column = (vector + first) * self.layout.lanes + SIDE * (size * q + v)
                column = column if isinstance(self.spec.columns, int) else kept(column)
                self._columns(section, offset, first + v, q, start, column)

    def _columns(
        self, section: Section, offset: Index, number: Index, q: Index, start: Index, column: Index
    ) -> None:
        """Write all K-steps of four columns."""
        columns, lanes = self.spec.columns, self.layout.lanes
        k_step_size = section.nr * lanes * SIDE

        def write(k_step: Index, k: Index, known: int, *, is_whole: bool) -> None:
            square = self._square(start, column, k, is_whole=is_whole)
            place = offset + k_step * k_step_size + number * (lanes * SIDE)
            self.store(self._filled(square, known), place, q)

        def every(*, is_whole: bool) -> None:
            if self.layout.places is None:
                whole = kept(T.truncdiv(self.spec.depth, SIDE))
                with T.serial(whole) as k_step:
                    write(k_step, k_step * SIDE, 0, is_whole=is_whole)
                with T.serial(T.truncdiv(self.spec.depth + (SIDE - 1), SIDE) - whole):
                    write(whole, whole * SIDE, 0, is_whole=False)
                return
            whole = _whole_k_steps(self.layout.places)
            if whole:
                with T.serial(whole) as k_step:
                    write(k_step, k_step * SIDE, 0, is_whole=is_whole)
            for k_step, places in enumerate(self.layout.places[whole:], whole):
                known = int((places < 0).sum())
                write(k_step, int(places[-1]) - SIDE + 1, known, is_whole=is_whole)

        end = section.first_vector + section.blocks * section.nr
        if isinstance(columns, int) and end * lanes <= columns:
            every(is_whole=True)
            return
        with T.If(column + SIDE <= columns):
            with T.Then():
                every(is_whole=True)
            with T.Else():
                if isinstance(columns, int):
                    every(is_whole=False)
                    return
                with T.If(column < columns), T.Then():
                    every(is_whole=False)

    def _square(self, start: Index, column: Index, k: Index, *, is_whole: bool) -> Vector:
        """Load four values of four columns; another column replaces those past the last one."""
        spec = self.spec
        sides = range(SIDE)
        if not is_whole:
            numbers = [unsigned_min(column + i, spec.columns - 1) for i in sides]
            bytes_ = [self._value(start, n, k + j) for n in numbers for j in sides]
            square = T.Shuffle(bytes_, list(range(SQUARE)))
        elif spec.is_transposed:
            runs = [self.rhs[T.ramp(self._place(start, column + i, k), 1, SIDE)] for i in sides]
            square = T.Shuffle(runs, list(range(SQUARE)))
        else:
            runs = [self.rhs[T.ramp(self._place(start, column, k + j), 1, SIDE)] for j in sides]
            square = T.Shuffle(runs, [SIDE * j + i for i in sides for j in sides])
        if spec.rhs_dtype == "int8":
            return square
        return T.reinterpret(f"int8x{SQUARE}", flipped(square))

    def _place(self, start: Index, column: Index, k: Index) -> Index:
        spec = self.spec
        within = column * spec.depth + k if spec.is_transposed else k * spec.columns + column
        return start + within

    def _value(self, start: Index, column: Index, k: Index) -> Vector:
        """Load a value; past the depth, return the one that becomes 0 as int8."""
        if self.layout.places is not None:
            return self.rhs[self._place(start, column, k)]
        last, dtype = self.spec.depth - 1, self.spec.rhs_dtype
        value = self.rhs[self._place(start, column, unsigned_min(k, last))]
        return T.Select(k <= last, value, splat(dtype, 0 if dtype == "int8" else 128, 1))

    def _filled(self, square: Vector, known: int) -> Vector:
        """Replace the first values of each column by the filler."""
        if not known:
            return square
        is_known = [place % SIDE < known for place in range(SQUARE)]
        whole = _bytes([0 if known else -1 for known in is_known])
        fillers = _bytes([self.layout.filler if known else 0 for known in is_known])
        return T.bitwise_or(T.bitwise_and(square, whole), fillers)


def _bytes(values: list[int]) -> Vector:
    return T.Shuffle([T.int8(value) for value in values], list(range(len(values))))


def _whole_k_steps(places: Array) -> int:
    """Count the first K-steps that are consecutive."""
    is_next = [
        list(row) == list(range(SIDE * number, SIDE * (number + 1)))
        for number, row in enumerate(places)
    ]
    return is_next.index(False) if False in is_next else len(is_next)
