"""The steps of an SVDF after the products of its data.

for each filter
  output = its values except for the oldest, round(sum · multiplier)
for each unit
  for each vector of its filters' values
    total += pair products of values and weights
  output = round((total + bias) · multiplier) + zero point, clamped

A unit's filters are consecutive, so its values are one row.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.arithmetic import rescaled_any
from legalize.kernels.ir.rows import copy, for_each_piece, ramp
from legalize.kernels.ir.tasks import shared_loop, task_count
from legalize.kernels.ir.vectors import (
    Array,
    Buffer,
    Index,
    Vector,
    get_lanes,
    kept,
    lanes_in,
    local_vector,
    set_lanes,
    splat,
    vector_of,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.written import flat, new_function

# Roughly what one thread multiplies.
_VALUES_PER_MICROSECOND = 8_000
LEAST_VALUES = 8
"""The values in the smallest vector."""


@dataclass(frozen=True)
class Rescaling:
    """The rescaling of sums to integers of a dtype.

    Attributes:
        multiplier: not negative.
        shift: positive to the left.
        zero_point: added after the shift.
        dtype: int8 or int16.
    """

    multiplier: int
    shift: int
    zero_point: int
    dtype: str

    def write(self, sums: Vector) -> Vector:
        """Return int32 sums, one or a vector, as integers of the dtype."""
        lanes, ends = lanes_in(sums), np.iinfo(self.dtype)
        low, high = (int(end) - self.zero_point for end in (ends.min, ends.max))
        steps = kept(rescaled_any(sums, self.multiplier, self.shift))
        steps = T.max(T.min(steps, splat("int32", high, lanes)), splat("int32", low, lanes))
        return T.Cast(vector_of(self.dtype, lanes), steps + splat("int32", self.zero_point, lanes))


@cache
def remember(
    isa: VectorIsa, batch: int, filters: int, steps: int, rescaling: Rescaling
) -> tirx.PrimFunc:
    """Build the function that drops the oldest values and appends the newest.

    Returns:
        A function of the sums, the values, and the new values.
    """
    rows, dtype = batch * filters, rescaling.dtype
    size = rows * steps
    with new_function("svdf_state") as builder:
        sums = T.arg("sums", T.buffer((batch, filters), "int32"))
        state = T.arg("state", T.buffer((batch, filters * steps), dtype))
        output = T.arg("output", T.buffer((batch, filters * steps), dtype))
        found, source, target = map(flat, (sums, state, output))

        def renew(first: Index, lanes: int) -> None:
            newest = kept(rescaling.write(kept(found[ramp(first, lanes)])))
            for lane in range(lanes):
                value = newest if lanes == 1 else T.Shuffle([newest], [lane])
                T.buffer_store(target, value, [(first + lane) * steps + (steps - 1)])

        if steps > 1:
            copy(target, 0, source, 1, size - 1, isa.size // np.dtype(dtype).itemsize)
        for_each_piece(rows, renew, isa.lanes)
    return builder.get()


@dataclass(frozen=True)
class Rows:
    """The rows of a state, and the vectors that cover them.

    Attributes:
        batch: the number of states.
        units: rows of each state.
        length: values of each row.
        dtype: the values' dtype.
    """

    batch: int
    units: int
    length: int
    dtype: str

    def lanes(self, isa: VectorIsa) -> int:
        """Return the number of values in a vector."""
        least = LEAST_VALUES
        while least < min(self.length, isa.size // 2):
            least *= 2
        return least

    def is_served(self, isa: VectorIsa) -> bool:
        """Tell whether a vector fits into a state."""
        return self.units * self.length >= self.lanes(isa)

    def packed(self, isa: VectorIsa, weights: Array) -> Array:
        """Lay out weights [units, length]: int16 [units, vectors, lanes].

        The last vector of a row also reads values of the next row, or, at the end, of the row
        before. These values have the weight 0.
        """
        lanes = self.lanes(isa)
        packed = np.zeros((self.units, -(-self.length // lanes), lanes), np.int16)
        for unit, number in np.ndindex(packed.shape[:2]):
            first = number * lanes
            count = min(lanes, self.length - first)
            start = min(unit * self.length + first, self.units * self.length - lanes)
            place = unit * self.length + first - start
            packed[unit, number, place : place + count] = weights[unit, first : first + count]
        return packed


@cache
def weigh(isa: VectorIsa, rows: Rows, rescaling: Rescaling) -> tirx.PrimFunc:
    """Build the function that adds weighted values.

    Returns:
        A function of the values, the packed weights, the bias and the output.
    """
    size = rows.units * rows.length
    lanes = rows.lanes(isa)
    vectors = -(-rows.length // lanes)
    with new_function("svdf") as builder:
        state = T.arg("state", T.buffer((rows.batch, size), rows.dtype))
        weights = T.arg("weights", T.buffer((rows.units, vectors, lanes), "int16"))
        bias = T.arg("bias", T.buffer((rows.units,), "int32"))
        output = T.arg("output", T.buffer((rows.batch, rows.units), rescaling.dtype))
        source, factors, target = map(flat, (state, weights, output))

        def products(row: Index, unit: Index, number: Index) -> Vector:
            start = unit * rows.length + number * lanes
            if rows.length % lanes:
                start = T.min(start, size - lanes)
            values = T.Cast(f"int16x{lanes}", source[T.ramp(row * size + start, 1, lanes)])
            place = (unit * vectors + number) * lanes
            found = isa.pair_products(values, factors[T.ramp(place, 1, lanes)])
            return T.reinterpret(f"uint32x{lanes // 2}", found)

        def block(row: Index, first: Index, count: int) -> None:
            totals = [local_vector(lanes // 2, "uint32") for _ in range(count)]
            for number, total in enumerate(totals):
                set_lanes(total, products(row, first + number, 0), lanes // 2)
            if vectors > 1:
                with T.serial(vectors - 1) as turn:
                    for number, total in enumerate(totals):
                        _add(total, products(row, first + number, turn + 1), lanes // 2)
            sums = _added_up([get_lanes(total, lanes // 2) for total in totals])
            sums = sums + T.reinterpret(vector_of("uint32", count), bias[ramp(first, count)])
            sums = kept(T.reinterpret(vector_of("int32", count), sums))
            place = ramp(row * rows.units + first, count)
            T.buffer_store(target, rescaling.write(sums), [place])

        def whole_row(row: Index) -> None:
            for_each_piece(rows.units, partial(block, row), isa.lanes)

        tasks = task_count(rows.batch * size / _VALUES_PER_MICROSECOND)
        shared_loop(tasks, rows.batch, whole_row)
    return builder.get()


def _add(total: Buffer, more: Vector, lanes: int) -> None:
    set_lanes(total, get_lanes(total, lanes) + more, lanes)


def _added_up(vectors: list[Vector]) -> Vector:
    """Sum the lanes of each of 2^n vectors to one lane; unsigned, as sums may wrap."""
    count = len(vectors)
    while count < len(vectors) * lanes_in(vectors[0]):
        # Add neighbours, in all vectors in sequence.
        pairs = [vectors[i : i + 2] for i in range(0, len(vectors), 2)]
        vectors = [kept(_every_other(pair, 0) + _every_other(pair, 1)) for pair in pairs]
    while len(vectors) > 1:
        joined = range(2 * lanes_in(vectors[0]))
        vectors = [
            kept(T.Shuffle(vectors[i : i + 2], list(joined))) for i in range(0, len(vectors), 2)
        ]
    return vectors[0]


def _every_other(vectors: list[Vector], first: int) -> Vector:
    lanes = len(vectors) * lanes_in(vectors[0])
    return T.Shuffle(vectors, list(range(first, lanes, 2)))
