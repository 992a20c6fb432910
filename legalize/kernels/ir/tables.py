"""Tensors of several axes over a buffer of one axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.places import address
from legalize.kernels.ir.vectors import Buffer, Index, Vector, kept, load, store

# Stands for the size of a tensor that the code does not know.
_ANY_SIZE = 2**31 - 1


class Tables:
    """The parameters with several axes of the function that is being written."""

    def __init__(self) -> None:
        """Start without parameters."""
        self._declared: list[tuple[Table, Buffer]] = []

    def parameter(
        self, name: str, shape: Sequence[int], dtype: str, *, is_any: bool = False
    ) -> Table:
        """Declare a parameter, which may be read only after ``flatten``.

        If it is of any shape, variables stand for the sizes of its axes, and ``shape`` is only the
        table's.
        """
        sizes = tuple(shape)
        if is_any:
            sizes = tuple(tirx.Var(f"size_{axis}", "int64") for axis in range(len(shape)))
        buffer = T.arg(name, T.buffer(sizes, dtype))
        table = Table(buffer, shape)
        self._declared.append((table, buffer))
        return table

    def flatten(self) -> None:
        """Declare each parameter's buffer of one axis. No parameter may be declared later."""
        for table, buffer in self._declared:
            size = _ANY_SIZE if isinstance(buffer.shape[0], tirx.Var) else prod(table.shape)
            table.row = T.decl_buffer((size,), buffer.dtype, data=buffer.data)


class Table:
    """Several axes over a buffer of one.

    TVM's passes that flatten indices and simplify the result take as long as LLVM. A kernel with
    one index everywhere does not need them.

    Attributes:
        row: the buffer.
        shape: the sizes of the axes.
        begin: the offset of the first element.
    """

    def __init__(self, row: Buffer, shape: Sequence[int], begin: Index = 0) -> None:
        """Give a buffer's elements several axes."""
        self.row = row
        self.shape = tuple(shape)
        self.begin = begin

    @classmethod
    def allocated(cls, shape: Sequence[int], dtype: str) -> Table:
        """Allocate memory."""
        return cls(T.alloc_buffer((prod(shape),), dtype, scope="global"), shape)

    def after(self, index: Index) -> Table:
        """Return the table that begins with an index of the first axis.

        Instructions add offsets that the code knows to the address of its first element. Otherwise
        LLVM keeps an address for each element that a loop reads, and spills most.
        """
        begin = self.begin + index * prod(self.shape[1:])
        return Table(self.row, self.shape, address(begin))

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Vector:
        """Read one element, or the elements of a ramp along the last axis."""
        place = self._place(indices if isinstance(indices, tuple) else (indices,))
        return load(self.row, place)

    def numbers(self, count: int, first: int = 0) -> Iterator[Index]:
        """Read some numbers of a table of one axis, from ``first`` on, and keep each."""
        return (kept(self[first + i]) for i in range(count))

    def store(self, value: Vector, indices: tuple[Index, ...]) -> None:
        """Write one element, or the elements of a ramp along the last axis."""
        store(self.row, value, self._place(indices))

    def _place(self, indices: tuple[Index, ...]) -> Index:
        place: Index = 0
        *outer, last = indices
        for index, size in zip(outer, self.shape[1:], strict=True):
            place = (place + index) * size
        if isinstance(last, tirx.Ramp):
            return T.ramp(self.begin + (place + last.base), last.stride, last.lanes)
        return self.begin + (place + last)
