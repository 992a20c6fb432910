"""Softmax of short rows, which computes a reciprocal in each lane of a vector.

    for each block of rows
      for each row of it
        exponentials[row] = table[largest − x]
        total[row] = Σ exponentials[row], each as a term
      fraction, down = reciprocal(total)
      for each row of it
        output = exponentials[row]·fraction[row], rounded to 8 bits

The last block may overlap the one before.
"""

from collections.abc import Callable

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, powers_of_two, ramp
from legalize.kernels.ir.vectors import Index, Vector, kept, reduced
from legalize.kernels.softmax.kernel import Kernel
from legalize.kernels.softmax.steps import reciprocals, term


class ShortRows(Kernel):
    """The writer of a function of rows of fewer than 128 values, whose sums fit int32."""

    def write(self) -> None:
        """Write the loops."""
        rows = min(self.isa.lanes, 1 << (self.rows.bit_length() - 1))
        self.powers = T.alloc_buffer((rows * self.columns,), "int32", scope="global")
        for_each_piece(self.rows, self._block, rows)

    def _block(self, first: Index, count: int) -> None:
        """Write the softmax of ``count`` rows."""
        total, fraction, down = (
            T.alloc_buffer((count,), "int32", scope="global") for _ in range(3)
        )
        first, columns = first * self.columns, self.columns
        with T.serial(count) as row:
            place = row * columns
            T.buffer_store(total, self._sum(first + place, place), [row])
        every = ramp(0, count)
        for buffer, value in zip((fraction, down), reciprocals(kept(total[every])), strict=True):
            T.buffer_store(buffer, value, [every])
        with T.serial(count) as row:
            place, factor, shift = row * columns, kept(fraction[row]), kept(down[row])

            def write(offset: Index, width: int) -> None:
                power = self.powers[ramp(place + offset, width)]
                self.store(first + place + offset, self.result(power, factor, shift))

            self._each_part(write)

    def _sum(self, start: Index, place: Index) -> Vector:
        """Write a row's exponentials, and return their sum."""
        largest = kept(T.Cast("int32", self._largest(start)))
        with T.serial(self.columns) as i:
            distance = largest - T.Cast("int32", self.source[start + i])
            T.buffer_store(self.powers, self.exponentials[distance], [place + i])
        total = T.alloc_buffer((1,), "int32", scope="global")
        T.buffer_store(total, T.int32(0), [0])

        def add(offset: Index, width: int) -> None:
            value = term(self.powers[ramp(place + offset, width)], width)
            T.buffer_store(total, total[0] + reduced("add", value), [0])

        self._each_part(add)
        return total[0]

    def _each_part(self, body: Callable[[Index, int], None]) -> None:
        """Call ``body`` for parts of a row that do not overlap."""
        lanes = self.isa.lanes
        whole, rest = divmod(self.columns, lanes)
        if whole:
            with T.serial(whole) as i:
                body(i * lanes, lanes)
        for offset, width in powers_of_two(rest):
            body(whole * lanes + offset, width)

    def _largest(self, start: Index) -> Vector:
        """Return the largest value of a row."""
        first, *others = (
            reduced("max", self.source[ramp(start + offset, width)])
            for offset, width in powers_of_two(self.columns)
        )
        for each in others:
            first = T.max(first, each)
        return first
