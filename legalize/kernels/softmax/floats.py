"""Softmax of rows of float32, with elementwise operators before it. Sizes may be open.

    for each block of rows
      for each row
        values = the steps of the row, filled up with minus infinity
        last = the last value that a mask leaves
      for each row
        terms = exp(values - the largest value)
        sums of 16 lanes += terms, one vector after the other
      for each row
        output = terms * (1 / the sum of the lanes)

Past the last value all terms are 0. The order of the sums is that of MLAS. The logarithm of the
softmax is a value less the largest value, less the logarithm of the sum. If a constant mask shows
each row the columns up to its own number, the others are not read.
"""

import json
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from math import prod
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import offset_of
from legalize.kernels.ir.vectors import Buffer, Index, kept, local_vector
from legalize.primitives.float_arithmetic import function_of
from legalize.primitives.float_layers import rounded
from legalize.written import flat, new_function, own_sizes
from qnn_ops.dialect.sizes import is_open

LANES = 16
"""The lanes that are summed separately."""
_WIDE = 4 * LANES
"""Elements at a time: the steps of one polynomial wait for each other."""

_ROWS = 8
"""The most rows at a time: each result of a row waits for the one before it."""
_BLOCK = 1 << 12
"""The most elements at a time, unless a row is longer."""
_NEAR = 1 << 19
"""The most elements of a tensor whose rows are computed in blocks. The rows of a larger one wait
for memory: it is read and written without a break if they are computed one by one."""
_LEAST = -104.0
"""The exponentials of smaller numbers are 0."""

CONDITION = "int8"
"""The dtype in which conditions are read."""
DESCRIPTION = "softmax"
"""The attribute of a function of known sizes that has the text of its kernel's description."""

WHERE = "relax.where"
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "relax.add": operator.add,
    "relax.subtract": operator.sub,
    "relax.multiply": lambda a, b: rounded(a * b),  # the next step may add
    "relax.divide": operator.truediv,
}
"""The operators that a step may be, besides ``WHERE``."""


@dataclass(frozen=True)
class Step:
    """An operator of two operands; one of them is the row.

    Attributes:
        operator: the name of Relax's operator.
        other: the other operand: a number, or the shape of a tensor that broadcasts. For ``WHERE``
            it is the condition.
        is_second: whether the row is the second operand.
        number: what ``WHERE`` gives to elements in place of the row's.
    """

    operator: str
    other: Any
    is_second: bool = False
    number: float = 0.0

    @property
    def dtype(self) -> str:
        """The dtype of the other operand."""
        return CONDITION if self.operator == WHERE else "float32"

    @property
    def hides(self) -> bool:
        """Whether it is a condition that gives other elements the lowest number."""
        lowest = float(np.finfo(np.float32).min)
        return self.operator == WHERE and not self.is_second and self.number <= lowest

    def apply(self, value: Any, other: Any) -> Any:
        """Compute an element from the elements of the row and of the other operand."""
        if self.operator == WHERE:
            is_row = other == 0 if self.is_second else other != 0
            return T.Select(is_row, value, T.float32(self.number))
        return OPERATORS[self.operator](*((other, value) if self.is_second else (value, other)))


@dataclass
class Kernel:
    """The writer of one function.

    Attributes:
        shape: of the data.
        steps: the operators between the data and the softmax, in order.
        is_logarithm: whether the result is the softmax's logarithm.
        is_causal: whether the last step hides the columns after each row's own number.
    """

    shape: Sequence[Any]
    steps: Sequence[Step]
    is_logarithm: bool
    is_causal: bool = False

    def __post_init__(self) -> None:
        """Begin a function's sizes."""
        self.sizes: dict[str, Any] = {}
        *self.outer, self.columns = own_sizes(self.shape, self.sizes)
        is_whole = isinstance(self.columns, int) and self.columns % LANES == 0
        self.least = LANES if is_whole else 1
        self.has_masks = any(step.dtype == CONDITION for step in self.steps)

    @classmethod
    def described(cls, text: str) -> "Kernel":
        """Return the kernel of a description."""
        shape, steps, *others = json.loads(text)
        return cls(shape, [Step(*step) for step in steps], *others)

    def build(self) -> tirx.PrimFunc:
        """Write the function of the data, the tensors of the steps, and the output."""
        data = self.shape, "float32"
        with new_function("softmax") as builder:
            source, *others, target = self.arguments(data, *self.operands, data)
            rows, most = prod(self.outer, start=T.int64(1)), 1
            if not is_open(self.shape) and 0 < prod(self.shape) <= _NEAR:
                most = max(1, min(_BLOCK // self.columns, _ROWS, prod(self.outer)))
            self.prepare(others, most)
            memory = T.alloc_buffer((most * self.turns * LANES,), "float32", scope="global")
            with T.serial(T.truncdiv(rows + (most - 1), most)) as block:
                first = kept(block * most)
                self.write_rows(first, kept(T.min(most, rows - first)), source, memory, target)
        if is_open(self.shape):
            return builder.get()
        steps = [astuple(step) for step in self.steps]
        text = json.dumps([self.shape, steps, self.is_logarithm, self.is_causal])
        return builder.get().with_attr(DESCRIPTION, text)

    @property
    def operands(self) -> list[tuple[Sequence[Any], str]]:
        """The shapes and dtypes of the tensors that the steps take."""
        return [(step.other, step.dtype) for step in self.steps if _is_tensor(step)]

    def arguments(self, *kinds: tuple[Sequence[Any], str]) -> list[Buffer]:
        """Declare arguments of shapes and dtypes, and return them as buffers of one axis."""
        declared = [
            T.arg(
                "tensor",
                T.buffer(own_sizes(shape, self.sizes), "bool" if dtype == CONDITION else dtype),
            )
            for shape, dtype in kinds
        ]
        return [flat(each, dtype) for each, (_, dtype) in zip(declared, kinds, strict=True)]

    def prepare(self, others: Sequence[Buffer], most: int) -> None:
        """Take the tensors of the steps, and allocate numbers of so many rows at a time."""
        left = iter(others)
        self.others = [next(left) if _is_tensor(step) else None for step in self.steps]
        self.turns = T.truncdiv(self.columns + (LANES - 1), T.int64(LANES))
        self.largest, self.factors = (local_vector(most, "float32") for _ in range(2))
        self.seen = local_vector(most, "int64")

    def write_rows(
        self, first: Index, count: Index, source: Buffer, memory: Buffer, target: Buffer
    ) -> None:
        """Write the results of some rows.

        Args:
            first: the first row.
            count: the number of rows.
            source: the data.
            memory: float32, the rows filled up to whole vectors.
            target: receives the results. If data and results are in ``memory``, these three are the
                same.
        """
        self.source, self.rows, self.target = source, memory, target
        for write in (self._read, self._add, self._write):
            with T.serial(count) as number:
                write(first + number, number, kept(number * (self.turns * LANES)))

    def _place(self, row: Index, own: Index) -> Index:
        """Return the offset of a row in data and results, given its offset in ``rows``."""
        return own if self.source is self.rows else kept(row * self.columns)

    def _elements(self, row: Index, own: Index) -> Callable[[Index], Any]:
        """Return a function that computes an element of a row by the steps."""
        operands = [
            self._start(step.other, row) if _is_tensor(step) else None for step in self.steps
        ]
        start = self._place(row, own)

        def element(place: Index) -> Any:
            value = self.source[start + place]
            for step, other, operand in zip(self.steps, self.others, operands, strict=True):
                if operand is None or other is None:
                    second = T.float32(step.other)
                else:
                    first, stride = operand
                    second = other[first + place * stride]
                value = step.apply(value, second)
            return value

        return element

    def _start(self, shape: Sequence[Any], row: Index) -> tuple[Index, int]:
        """Return the offset of a row in a tensor that broadcasts, and its stride."""
        sizes = own_sizes(shape, self.sizes)
        strides = [
            0 if size == 1 else prod(sizes[axis + 1 :], start=T.int64(1))
            for axis, size in enumerate(shape[:-1])
        ]
        strides = [0] * (len(self.shape) - len(shape)) + strides
        return kept(offset_of(row, self.outer, strides)), int(shape[-1] != 1)

    def _read(self, row: Index, number: Index, own: Index) -> None:
        """Write a row's values, the largest one, and the number of vectors up to the last seen.

        A condition masks values with the lowest float or minus infinity. The term of such a value
        is 0 if another value is larger, as in a prompt, where a token sees only the tokens before
        it. If no value is larger, all count as seen.
        """
        most, last = (local_vector(_WIDE, dtype) for dtype in ("float32", "int32"))
        lowest = tirx.min_value("float32")
        finds_last = self.has_masks and not self.is_causal
        with T.vectorized(T.int64(_WIDE)) as lane:
            T.buffer_store(most, lowest, [lane])
            T.buffer_store(last, T.int32(0), [lane])
        element, end = self._elements(row, own), self.columns
        if self.is_causal:
            seen = T.truncdiv(T.truncmod(row, self.columns), T.int64(LANES)) + 1
            end = kept(T.min(seen * LANES, self.columns))
        for place, lanes in _pieces(end, self.least):
            with T.vectorized(T.int64(lanes)) as lane:
                T.buffer_store(self.rows, element(place + lane), [own + (place + lane)])
                T.buffer_store(most, T.max(most[lane], self.rows[own + (place + lane)]), [lane])
                if finds_last:
                    is_masked = self.rows[own + (place + lane)] <= lowest  # a NaN is not
                    after = T.Cast("int32", place) + lanes
                    T.buffer_store(last, T.Select(is_masked, last[lane], after), [lane])
        with T.serial(self.turns * LANES - self.columns) as place:
            T.buffer_store(self.rows, T.float32(-np.inf), [own + self.columns + place])
        largest = _folded(most, _WIDE, T.max)
        if finds_last:
            end = T.Cast("int64", _folded(last, _WIDE, T.max))
            end = T.Select(end > 0, end, self.turns * LANES)
        if self.is_causal:
            hidden = T.Select(largest <= lowest, self.columns - end, T.int64(0))
            with T.serial(hidden) as place:
                T.buffer_store(self.rows, element(end + place), [own + (end + place)])
            end = kept(end + hidden)
        T.buffer_store(self.largest, largest, [number])
        T.buffer_store(self.seen, T.truncdiv(end + (LANES - 1), T.int64(LANES)), [number])

    def _add(self, row: Index, number: Index, own: Index) -> None:
        """Write a row's terms, and what the sum of them contributes to the results."""
        del row
        turns, most = kept(self.seen[number]), kept(self.largest[number])
        total = self._sum(turns, own, lambda value: self._term(value - most))
        if self.is_logarithm:
            T.buffer_store(self.factors, T.log(total), [number])
            return
        T.buffer_store(self.factors, T.float32(1) / total, [number])
        with T.serial((self.turns - turns) * LANES) as place:
            T.buffer_store(self.rows, T.float32(0), [own + turns * LANES + place])

    def _write(self, row: Index, number: Index, own: Index) -> None:
        """Write a row's results."""
        start, factor = self._place(row, own), kept(self.factors[number])
        for place, lanes in _pieces(self.columns):
            with T.vectorized(T.int64(lanes)) as lane:
                value = self.rows[own + (place + lane)]
                logarithm = value - self.largest[number] - factor
                result = logarithm if self.is_logarithm else value * factor
                T.buffer_store(self.target, result, [start + (place + lane)])

    def _term(self, distance: Any) -> Any:
        """Return the exponential; 0 for values that are hidden or fill up, which underflow.

        A tensor that is added hides some values, too, if it is a mask with large negative numbers.
        """
        exponential, variable = function_of("exp"), tirx.Var("distance", "float32")
        if self.least == LANES and not self.operands:
            return exponential(distance)
        # If both comparisons were the same, LLVM would drop the first one.
        zero, least = T.float32(0), T.float32(_LEAST)
        term = exponential(tirx.Select(variable < least, zero, variable))
        return tirx.Let(variable, distance, tirx.Select(variable <= least, zero, term))

    def _sum(self, turns: Index, own: Index, term: Callable[[Any], Any]) -> Any:
        """Write the sum of the terms; store them as the row unless the logarithm is wanted."""
        sums, terms = local_vector(LANES, "float32"), local_vector(_WIDE, "float32")
        with T.vectorized(T.int64(LANES)) as lane:
            T.buffer_store(sums, T.float32(0), [lane])

        for place, lanes in _pieces(turns * LANES, LANES):
            with T.vectorized(T.int64(lanes)) as lane:
                T.buffer_store(terms, term(self.rows[own + (place + lane)]), [lane])
                if not self.is_logarithm:
                    T.buffer_store(self.rows, terms[lane], [own + (place + lane)])
            for first in range(0, lanes, LANES):
                with T.vectorized(T.int64(LANES)) as lane:
                    T.buffer_store(sums, sums[lane] + terms[first + lane], [lane])
        halves = local_vector(LANES // 2, "float32")
        with T.vectorized(T.int64(LANES // 2)) as lane:
            T.buffer_store(halves, sums[lane] + sums[LANES // 2 + lane], [lane])
        left = [halves[lane] for lane in range(LANES // 2)]
        while len(left) > 1:
            left = [kept(a + b) for a, b in zip(left[::2], left[1::2], strict=True)]
        return left[0]


def _pieces(end: Index, least: int = 1) -> Iterator[tuple[Index, int]]:
    """Write the loops over elements up to an end: 64 at a time, then 16, then one at a time.

    Args:
        end: the number of elements, a multiple of ``least``.
        least: the fewest elements at a time.

    Yields:
        For each loop, the first element of a turn, and how many there are.
    """
    begin: Index = 0
    for lanes in (_WIDE, LANES, 1):
        left = end - begin
        turns = left // lanes if isinstance(left, int) else kept(T.truncdiv(left, T.int64(lanes)))
        if lanes >= least and not (isinstance(turns, int) and turns == 0):
            with T.serial(T.int64(turns)) as turn:
                yield begin + turn * lanes, lanes
            begin = kept(begin + turns * lanes)


def _is_tensor(step: Step) -> bool:
    return not isinstance(step.other, float)


def _folded(vector: Buffer, lanes: int, combine: Callable[[Any, Any], Any]) -> Any:
    """Write the combination of all lanes, each half with the other, until one lane is left."""
    while lanes > 1:
        lanes //= 2
        with T.vectorized(T.int64(lanes)) as lane:
            T.buffer_store(vector, combine(vector[lane], vector[lanes + lane]), [lane])
    return kept(vector[0])
