"""Softmax of many short rows of 4, 8 or 16 values, in vectors that span several rows.

    for each block of as many rows as four vectors have lanes of int32
      largest[row] = the larger one of neighbours, and of these, until one a row is left
      exponentials = table[largest − x], byte by byte of the table
      total[row] = Σ exponentials, each as a term, by neighbours, too
      fraction, down = reciprocal(total)
      outputs = exponentials · fraction, rounded to 8 bits

It serves instruction sets that look up bytes in registers: a load of a word for each lane takes
several times as long.
"""

import operator
from math import prod

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, of_neighbours, ramp
from legalize.kernels.ir.vectors import DWORD, Index, Vector, as_unsigned, kept, lanes_in
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.softmax.kernel import Kernel
from legalize.kernels.softmax.steps import byte_tables, reciprocals, term

_LENGTHS = (4, 8, 16)
# Vectors of rows at a time: while one vector waits for a step of its reciprocals, others compute.
_AT_ONCE = 4


def has_even_rows(isa: VectorIsa, shape: tuple[int, ...]) -> bool:
    """Tell whether ``EvenRows`` serves a shape."""
    are_many = prod(shape[:-1]) >= _AT_ONCE * isa.lanes
    return isa.has_plain_tables and shape[-1] in _LENGTHS and are_many


class EvenRows(Kernel):
    """The writer of a function of rows whose length is a power of two."""

    def write(self) -> None:
        """Write the loops."""
        self.tables = byte_tables(self.isa, self.exponentials, DWORD)
        for_each_piece(self.rows, self._block, _AT_ONCE * self.isa.lanes)

    def _block(self, first: Index, count: int) -> None:
        """Write the softmax of ``count`` rows."""
        isa, columns, lanes = self.isa, self.columns, self.isa.lanes
        start = kept(first * columns)
        parts = range(0, count * columns, isa.size)
        values = [
            kept(as_unsigned(self.source[ramp(start + part, isa.size)], self.dtype))
            for part in parts
        ]
        largest = kept(of_neighbours(T.max, values, count))
        words = []
        for part, value in zip(parts, values, strict=True):
            distance = kept(_of_rows(largest, part, isa.size, columns) - value)
            words += _joined(isa, [kept(isa.look_up(table, distance)) for table in self.tables])
        total = of_neighbours(operator.add, [term(word, lanes) for word in words], count)
        quotient = [kept(each) for each in reciprocals(kept(total))]
        for place, word in zip(range(0, count * columns, lanes), words, strict=True):
            factors = (_of_rows(each, place, lanes, columns) for each in quotient)
            self.store(start + place, self.result(word, *factors))


def _joined(isa: VectorIsa, parts: list[Vector]) -> list[Vector]:
    """Join the bytes of int32, given as four vectors of bytes: return four vectors of int32."""
    size, half, quarter = isa.size, isa.size // 2, isa.size // DWORD
    words = []
    for start in (0, half):
        places = [place for i in range(start, start + half) for place in (i, size + i)]
        lower, upper = (
            T.reinterpret(f"uint16x{half}", T.Shuffle(parts[i : i + 2], places)) for i in (0, 2)
        )
        for begin in (0, quarter):
            pairs = [place for i in range(begin, begin + quarter) for place in (i, half + i)]
            word = T.Shuffle([kept(lower), kept(upper)], pairs)
            words.append(kept(T.reinterpret(f"int32x{quarter}", word)))
    return words


def _of_rows(values: Vector, start: int, lanes: int, columns: int) -> Vector:
    """Repeat each row's value for all its columns, from an element of the block on."""
    # A shuffle may not have more lanes than it reads.
    times = -(-lanes // lanes_in(values))
    return T.Shuffle([values] * times, [(start + i) // columns for i in range(lanes)])
