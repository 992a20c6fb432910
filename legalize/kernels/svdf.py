"""The steps of an SVDF after the products of its data.

for each filter
  output = its values except for the oldest, round(sum · multiplier)
for each unit
  for each vector of its filters' values
    total += pair products of values and weights
  output = round((total + bias) · multiplier) + zero point, clamped

A unit's filters are consecutive, so its values are one row.
"""

import operator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_written
from legalize.kernels.ir.arithmetic import rescaled_any
from legalize.kernels.ir.rows import copy, for_each_piece, of_neighbours, ramp
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
from legalize.kernels.kernel import Builder, Lowered, Operands
from legalize.written import arguments, new_function
from qnn_ops import quantized_svdf, quantized_svdf_state
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from qnn_ops.dialect.registry import Attrs, as_const, constant_of, spec_of
from qnn_ops.quantized.svdf import output_multiplier, state_multiplier

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
        states = (batch, filters * steps), dtype
        found, source, target = arguments(
            sums=((batch, filters), "int32"), state=states, output=states
        )

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
        source, factors, bias, target = arguments(
            state=((rows.batch, size), rows.dtype),
            weights=((rows.units, vectors, lanes), "int16"),
            bias=((rows.units,), "int32"),
            output=((rows.batch, rows.units), rescaling.dtype),
        )

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
            # Unsigned, as sums may wrap.
            halves = [get_lanes(total, lanes // 2) for total in totals]
            sums = of_neighbours(operator.add, halves, count)
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


def _remember(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    (batch, filters), state = spec_of(operands[0]).shape, spec_of(operands[1])
    rescaling = _rescaling(state_multiplier(attrs), attrs.state_zero_point, state.dtype)
    function = remember(isa, batch, filters, state.shape[1] // filters, rescaling)
    return call_written(builder, function, operands)


def _weigh(builder: Builder, attrs: Attrs, operands: Operands, *, isa: VectorIsa) -> Lowered:
    state, constants = spec_of(operands[0]), [constant_of(each) for each in operands[1:]]
    weights, bias = (*constants, None)[:2]
    if weights is None or (len(operands) > 2 and bias is None):
        return None
    units = weights.shape[0] // attrs.rank
    weights = weights.reshape(units, -1)
    rows = Rows(state.shape[0], units, weights.shape[1], state.dtype)
    if not rows.is_served(isa):
        return None
    added = np.zeros(units, np.int64) if bias is None else bias.astype(np.int64)
    added -= attrs.state_zero_point * weights.sum(axis=1, dtype=np.int64)
    rescaling = _rescaling(output_multiplier(attrs), attrs.output_zero_point, "int8")
    arrays = rows.packed(isa, weights), added.astype(np.int32)
    given = [operands[0], *(as_const(array) for array in arrays)]
    return call_written(builder, weigh(isa, rows, rescaling), given)


def _rescaling(real: float, zero_point: int, dtype: str) -> Rescaling:
    multiplier, shift = (int(part) for part in quantize_multiplier(np.float64(real)))
    return Rescaling(multiplier, shift, zero_point, dtype)


RULES = (
    (quantized_svdf_state, _remember),
    (quantized_svdf, _weigh),
)
