"""Softmax of rows of float32, with elementwise operators before it. Sizes may be open.

    for each row
      values = the steps of the row, filled up with minus infinity
      last = the last value that a mask leaves
      terms = exp(values - the largest value)
      sums of 16 lanes += terms, one vector after the other
      output = terms * (1 / the sum of the lanes)

Past the last value all terms are 0. The order of the sums is that of MLAS. The logarithm of the
softmax is a value less the largest value, less the logarithm of the sum.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import offset_of
from legalize.kernels.ir.vectors import Buffer, Index, kept, local_vector
from legalize.primitives.float_arithmetic import function_of
from legalize.written import flat, new_function, own_sizes

_LANES = 16
"""The lanes that are summed separately."""
_WIDE = 4 * _LANES
"""Elements at a time: the steps of one polynomial wait for each other."""

CONDITION = "int8"
"""The dtype in which conditions are read."""
CAUSAL = "causal"
"""The attribute of a function of matrices, if each row hides the columns after its own number: how
many rows they have."""


@dataclass(frozen=True)
class Step:
    """An operator of two operands; one of them is the row.

    Attributes:
        apply: computes an element of the result from the elements of the row and of the other
            operand.
        other: the other operand: a number, or the shape of a tensor that broadcasts.
        dtype: the dtype of the other operand.
        hides: whether it is a condition that gives other elements the lowest number.
    """

    apply: Callable[[Any, Any], Any]
    other: Any
    dtype: str = "float32"
    hides: bool = False


@dataclass
class Kernel:
    """The writer of one function.

    Attributes:
        shape: of the data.
        steps: the operators between the data and the softmax, in order.
        is_logarithm: whether the result is the softmax's logarithm.
    """

    shape: Sequence[Any]
    steps: Sequence[Step]
    is_logarithm: bool

    def build(self) -> tirx.PrimFunc:
        """Write the function of the data, the tensors of the steps, and the output."""
        self.sizes: dict[str, Any] = {}
        *self.outer, self.columns = own_sizes(self.shape, self.sizes)
        tensors = [step for step in self.steps if _is_tensor(step)]
        with new_function("softmax") as builder:
            rows = self.shape, "float32"
            kinds = [rows, *((step.other, step.dtype) for step in tensors), rows]
            self.source, *others, self.target = (
                flat(each, dtype)
                for each, (_, dtype) in [(self._argument(*kind), kind) for kind in kinds]
            )
            left = iter(others)
            self.others = [next(left) if _is_tensor(step) else None for step in self.steps]
            self.turns = T.truncdiv(self.columns + (_LANES - 1), T.int64(_LANES))
            self.row = T.alloc_buffer((self.turns * _LANES,), "float32", scope="global")
            with T.serial(prod(self.outer, start=T.int64(1))) as row:
                self._write(row)
        return builder.get()

    def _argument(self, shape: Sequence[Any], dtype: str) -> Buffer:
        sizes = own_sizes(shape, self.sizes)
        return T.arg("tensor", T.buffer(sizes, "bool" if dtype == CONDITION else dtype))

    def _write(self, row: Index) -> None:
        """Write the code for a row."""
        start, element = kept(row * self.columns), self._elements(row)
        self._columns(lambda place: T.buffer_store(self.row, element(place), [place]))
        with T.serial(self.turns * _LANES - self.columns) as place:
            T.buffer_store(self.row, T.float32(-np.inf), [self.columns + place])
        (most, turns), exponential = self._largest(), function_of("exp")
        total = self._sum(turns, lambda place: exponential(self.row[place] - most))
        if self.is_logarithm:
            shift = kept(T.log(total))
            self._columns(lambda place: self._put(start, place, self.row[place] - most - shift))
        else:
            factor = kept(T.float32(1) / total)
            with T.serial((self.turns - turns) * _LANES) as place:
                T.buffer_store(self.row, T.float32(0), [turns * _LANES + place])
            self._columns(lambda place: self._put(start, place, self.row[place] * factor))

    def _put(self, start: Index, place: Index, value: Any) -> None:
        T.buffer_store(self.target, value, [start + place])

    def _elements(self, row: Index) -> Callable[[Index], Any]:
        """Return a function that computes an element of a row by the steps."""
        operands = [
            self._start(step.other, row) if _is_tensor(step) else None for step in self.steps
        ]
        start = kept(row * self.columns)

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

    def _columns(self, store: Callable[[Index], None]) -> None:
        """Write the loops over the elements of a row."""
        whole = kept(T.truncdiv(self.columns, T.int64(_WIDE)))
        with T.serial(whole) as turn, T.vectorized(T.int64(_WIDE)) as lane:
            store(turn * _WIDE + lane)
        with T.serial(self.columns - whole * _WIDE) as place:
            store(whole * _WIDE + place)

    def _vectors(self, turns: Index, body: Callable[[Index, int], None]) -> None:
        """Write the loops over vectors of a row: several at a time, then one at a time."""
        whole = kept(T.truncdiv(turns, T.int64(_WIDE // _LANES)))
        with T.serial(whole) as turn:
            body(turn * _WIDE, _WIDE)
        with T.serial(turns - whole * (_WIDE // _LANES)) as turn:
            body(whole * _WIDE + turn * _LANES, _LANES)

    def _largest(self) -> tuple[Any, Any]:
        """Return the largest value, and the number of vectors up to the last value that is seen.

        A condition masks values with the lowest float or minus infinity. The term of such a value
        is 0 if another value is larger, as in a prompt, where a token sees only the tokens before
        it. If no value is larger, all count as seen.
        """
        most, last = (local_vector(_WIDE, dtype) for dtype in ("float32", "int32"))
        lowest = tirx.min_value("float32")
        has_masks = any(step.dtype == CONDITION for step in self.steps)
        with T.vectorized(T.int64(_WIDE)) as lane:
            T.buffer_store(most, lowest, [lane])
            T.buffer_store(last, T.int32(0), [lane])

        def compare(place: Index, lanes: int) -> None:
            end = T.Cast("int32", place) + lanes
            with T.vectorized(T.int64(lanes)) as lane:
                T.buffer_store(most, T.max(most[lane], self.row[place + lane]), [lane])
            if not has_masks:
                return
            with T.vectorized(T.int64(lanes)) as lane:
                is_masked = self.row[place + lane] <= lowest  # a NaN is not
                T.buffer_store(last, T.Select(is_masked, last[lane], end), [lane])

        self._vectors(self.turns, compare)
        largest = _folded(most, _WIDE, T.max)
        if not has_masks:
            return largest, self.turns
        end = T.Cast("int64", _folded(last, _WIDE, T.max))
        return largest, kept(T.Select(end > 0, T.truncdiv(end, T.int64(_LANES)), self.turns))

    def _sum(self, turns: Index, term: Callable[[Index], Any]) -> Any:
        """Write the sum of the terms; store them as the row unless the logarithm is wanted."""
        sums, terms = local_vector(_LANES, "float32"), local_vector(_WIDE, "float32")
        with T.vectorized(T.int64(_LANES)) as lane:
            T.buffer_store(sums, T.float32(0), [lane])

        def add(place: Index, lanes: int) -> None:
            with T.vectorized(T.int64(lanes)) as lane:
                T.buffer_store(terms, term(place + lane), [lane])
            if not self.is_logarithm:
                with T.vectorized(T.int64(lanes)) as lane:
                    T.buffer_store(self.row, terms[lane], [place + lane])
            for first in range(0, lanes, _LANES):
                with T.vectorized(T.int64(_LANES)) as lane:
                    T.buffer_store(sums, sums[lane] + terms[first + lane], [lane])

        self._vectors(turns, add)
        halves = local_vector(_LANES // 2, "float32")
        with T.vectorized(T.int64(_LANES // 2)) as lane:
            T.buffer_store(halves, sums[lane] + sums[_LANES // 2 + lane], [lane])
        left = [halves[lane] for lane in range(_LANES // 2)]
        while len(left) > 1:
            left = [kept(a + b) for a, b in zip(left[::2], left[1::2], strict=True)]
        return left[0]


def _is_tensor(step: Step) -> bool:
    return not isinstance(step.other, float)


def _folded(vector: Buffer, lanes: int, combine: Callable[[Any, Any], Any]) -> Any:
    """Write the combination of all lanes, each half with the other, until one lane is left."""
    while lanes > 1:
        lanes //= 2
        with T.vectorized(T.int64(lanes)) as lane:
            T.buffer_store(vector, combine(vector[lane], vector[lanes + lane]), [lane])
    return kept(vector[0])
