"""Writes quantized_lstm as loops: one function for all steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import Expr
from tvm.relax import op as R
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import (
    as_int32,
    as_int64,
    call_loops,
    cell,
    clamped,
    divided,
    put,
    rescaled,
)
from legalize.primitives.registry import Builder, primitive
from qnn_ops.arithmetic.fixed_point import quantize_multiplier
from qnn_ops.arithmetic.inverse_sqrt import HALF_SQRT_2, HALF_THREE, ITERATIONS
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.dialect.sizes import sizes_of
from qnn_ops.quantized.lstm import gates_of, quantized_lstm
from qnn_ops.tables.gates import (
    GATE_BITS,
    LOWEST,
    NORM_BITS,
    ONE,
    VARIANCE_BITS,
    logistic_table,
    norm_multiplier,
    tanh_table,
    variance_guard,
)

_LARGEST = 2**31 - 1


def write_norm(gate: Any, count: int, weights: Any, bias: Any, row: int, scale: float) -> None:
    """Write the loops that normalize the first ``count`` values of a buffer of int32, in place.

    Args:
        gate: values within int16.
        count: the number of values.
        weights: int16, [gates, count].
        bias: int32, [gates, count].
        row: the row of weights and bias.
        scale: the weights' scale.
    """
    total, squares = cell("int64", T.int64(0)), cell("int64", T.int64(0))
    with T.serial(count) as i:
        put(total, total[0] + as_int64(gate[i]))
        put(squares, squares[0] + as_int64(gate[i] * gate[i]))
    divisor = T.int64(count)
    mean = cell("int32", as_int32(T.truncdiv(total[0] * T.int64(1 << NORM_BITS), divisor)))
    square = as_int64(mean[0]) * as_int64(mean[0])
    variance = squares[0] * T.int64((1 << VARIANCE_BITS) // count) - square
    whole = cell("int32", as_int32(T.truncdiv(variance, T.int64(1 << VARIANCE_BITS))))
    with T.If(whole[0] < 1), T.Then():
        put(whole, variance_guard(scale))
    multiplier, right = _write_inverse_sqrt(whole[0])
    factor, shift = norm_multiplier(scale)
    half = 1 << (NORM_BITS - 1)
    with T.serial(count) as i:
        distance = gate[i] * (1 << NORM_BITS) - mean[0]
        unit = cell("int32", rescaled(distance, multiplier[0], 0))
        with T.If(right[0] > 0), T.Then():
            put(unit, divided(unit[0], right[0]))
        product = as_int64(unit[0]) * as_int64(weights[row, i]) + as_int64(bias[row, i])
        weighed = cell("int64", as_int64(as_int32(product)))
        away = T.Select(weighed[0] > T.int64(0), T.int64(half), T.int64(-half))
        steps = as_int32(T.truncdiv(weighed[0] + away, T.int64(1 << NORM_BITS)))
        put(gate, clamped(rescaled(steps, factor, shift), -(2**15), 2**15 - 1), i)


def _write_inverse_sqrt(value: Any) -> tuple[Any, Any]:
    """Write qnn_ops.arithmetic.inverse_sqrt.inverse_sqrt_multiplier of a positive int32.

    Returns:
        Cells of the multiplier and of the right shift.
    """
    shift = cell("int32", 11)
    brought = cell("int32", T.max(value, 2))
    with T.If(brought[0] >= 1 << 29), T.Then():
        put(brought, T.truncdiv(brought[0], 4))
        put(shift, shift[0] + 1)
    pairs = cell("int32", 0)
    with T.While(brought[0] < 1 << 27):
        put(brought, brought[0] * 4)
        put(pairs, pairs[0] + 1)
    put(shift, shift[0] - pairs[0])
    half = cell("int32", divided(T.shift_right(brought[0], T.int32(1)), T.int32(1)))
    x = cell("int32", 1 << 28)
    with T.serial(ITERATIONS):
        square = cell("int32", _product(x[0], x[0]))
        cube = _lifted(_product(square[0], x[0]), 6)
        difference = _product(T.int32(HALF_THREE), x[0]) - _product(half[0], cube)
        put(x, _lifted(difference, 3))
    put(x, _product(x[0], T.int32(HALF_SQRT_2)))
    with T.If(shift[0] < 0), T.Then():
        put(x, T.shift_left(x[0], -shift[0]))
    multiplier = cell("int32", T.Select(value <= 1, T.int32(_LARGEST), x[0]))
    return multiplier, cell("int32", T.Select(value <= 1, T.int32(0), T.max(shift[0], 0)))


def _product(a: Any, b: Any) -> Any:
    return rescaled(a, b, 0)


def _lifted(x: Any, bits: int) -> Any:
    """Shift left, and saturate."""
    wide = T.shift_left(as_int64(x), T.int64(bits))
    return as_int32(T.max(T.min(wide, T.int64(_LARGEST)), T.int64(-(2**31))))


_INT16, _INT8 = (-(2**15), 2**15 - 1), (-(2**7), 2**7 - 1)


@primitive(quantized_lstm)
def _quantized_lstm(
    builder: Builder,
    attrs: Attrs,
    sums: Expr,
    hidden: Expr,
    cells: Expr,
    weights: Expr,
    extras: Expr,
) -> Expr:
    # There is a row for each hidden value, which is multiplied by the weights of all gates.
    packed = builder.emit(R.permute_dims(R.astype(weights, "int16")))
    fields = [
        extras.fields[i] if isinstance(extras, relax.Tuple) else builder.emit(extras[i])
        for i in range(len(attrs.extra_names))
    ]
    tables = [logistic_table(), *(tanh_table(bits) for bits in _tanh_bits(attrs))]
    constants = [relax.const(table, "int16") for table in tables]
    tensors = [sums, hidden, cells, packed, *constants, *fields]
    (batch, steps, _), outputs = spec_of(sums).shape, spec_of(hidden).shape[1]
    shape = batch, steps * outputs + spec_of(cells).shape[1]
    return call_loops(builder, "lstm", tensors, shape, "int16", _Writer(attrs).write)


def _tanh_bits(attrs: Attrs) -> list[int]:
    """Return the integer bits of the tables of tanh: for gates, then for cells."""
    return list(dict.fromkeys([GATE_BITS, 15 + attrs.cell_exponent]))


class _Writer:
    """Writes the loops of an LSTM.

    Attributes:
        attrs: the call's attributes.
        count: the number of cells.
        tables: the logistic function, tanh of gates, and tanh of cells if that table differs.
        extras: the extra tensors by name.
        hidden: the memory of the hidden values of a step.
        cells: the memory of the cells.
        found: sums of products of hidden values, for all gates.
        gates: the memory of each gate.
    """

    def __init__(self, attrs: Attrs) -> None:
        self.attrs = attrs

    def write(
        self, sums: Any, first_hidden: Any, first_cells: Any, weights: Any, *others: Any
    ) -> None:
        """Write the loops; ``others`` are the tables, the extra tensors and the result."""
        (batch, steps, rows), point = sizes_of(sums.shape), self.attrs.hidden_zero_point
        outputs, self.count = int(first_hidden.shape[1]), int(first_cells.shape[1])
        *given, output = others
        tables = 1 + len(_tanh_bits(self.attrs))
        self.tables = given[:tables]
        self.extras = dict(zip(self.attrs.extra_names, given[tables:], strict=True))
        self.hidden, self.cells, self.found = (
            T.alloc_buffer((size,), "int32", scope="global") for size in (outputs, self.count, rows)
        )
        self.gates = [
            T.alloc_buffer((self.count,), "int32", scope="global") for _ in gates_of(self.attrs)
        ]
        with T.serial(batch) as row:
            with T.serial(outputs) as i:
                put(self.hidden, as_int32(first_hidden[row, i]) - point, i)
            with T.serial(self.count) as i:
                put(self.cells, as_int32(first_cells[row, i]), i)
            with T.serial(steps) as step:
                with T.serial(rows) as i:
                    put(self.found, 0, i)
                with T.serial(outputs) as k, T.serial(rows) as i:
                    put(self.found, self.found[i] + self.hidden[k] * as_int32(weights[k, i]), i)
                self._write_step(lambda i: sums[row, step, i])
                with T.serial(outputs) as i:
                    place = [row, step * outputs + i]
                    T.buffer_store(output, T.Cast("int16", self.hidden[i] + point), place)
            with T.serial(self.count) as i:
                place = [row, steps * outputs + i]
                T.buffer_store(output, T.Cast("int16", self.cells[i]), place)

    def _write_step(self, sums: Callable[[Any], Any]) -> None:
        """Write the whole step, up to the new hidden values."""
        names, cells = gates_of(self.attrs), self.cells
        for name in names[:-1]:
            self._write_gate(name, sums)
        forget, new = (self.gates[names.index(each)] for each in ("forget", "cell"))
        shift = T.int32(30 + self.attrs.cell_exponent)
        clip = self.attrs.cell_clip
        with T.serial(self.count) as i:
            let_in = self.gates[0][i] if "input" in names else ONE - forget[i]
            kept = divided(forget[i] * cells[i], T.int32(15))
            total = clamped(kept + divided(let_in * new[i], shift), *_INT16)
            put(cells, clamped(total, -clip, clip) if clip else total, i)
        self._write_gate(names[-1], sums)
        if "projection" in self.extras:
            self._write_projection()
            return
        with T.serial(self.count) as i:
            put(self.hidden, self._product(i) - self.attrs.hidden_zero_point, i)

    def _write_gate(self, name: str, sums: Callable[[Any], Any]) -> None:
        attrs, count = self.attrs, self.count
        place = gates_of(attrs).index(name)
        gate, first = self.gates[place], place * count
        function = self._tanh if name == "cell" else self._logistic
        with T.serial(count) as i:
            value = clamped(_scaled(sums(first + i), attrs.input_multipliers[place]), *_INT16)
            more = _scaled(self.found[first + i], attrs.recurrent_multipliers[place])
            value = clamped(more + value, *_INT16)
            if "peepholes" in self.extras and name != "cell":
                row = place - (name == "output")
                product = as_int32(self.extras["peepholes"][row, i]) * self.cells[i]
                more = _scaled(product, attrs.peephole_multipliers[row])
                value = clamped(value + more, *_INT16)
            put(gate, value if "norm_weights" in self.extras else function(value), i)
        if "norm_weights" in self.extras:
            weights, bias = self.extras["norm_weights"], self.extras["norm_bias"]
            write_norm(gate, count, weights, bias, place, attrs.norm_scales[place])
            with T.serial(count) as i:
                put(gate, function(gate[i]), i)

    def _write_projection(self) -> None:
        attrs = self.attrs
        weights, bias = self.extras["projection"], self.extras["projection_bias"]
        inner = self.gates[0]  # nothing reads it any more
        with T.serial(self.count) as i:
            put(inner, self._product(i), i)
        with T.serial(int(self.hidden.shape[0])) as k:
            total = cell("int32", bias[k])
            with T.serial(self.count) as i:
                put(total, total[0] + inner[i] * as_int32(weights[k, i]))
            given = _scaled(total[0], attrs.projection_multiplier) + attrs.hidden_zero_point
            given, clip = clamped(given, *_INT8), attrs.projection_clip
            given = clamped(given, -clip, clip) if clip else given
            put(self.hidden, given - attrs.hidden_zero_point, k)

    def _product(self, i: Any) -> Any:
        """Return the output gate times tanh of a cell, as int8."""
        attrs = self.attrs
        product = self.gates[-1][i] * _found(self.tables[-1], self.cells[i])
        given = _scaled(product, attrs.product_multiplier) + attrs.product_zero_point
        return clamped(given, *_INT8)

    def _logistic(self, x: Any) -> Any:
        return _found(self.tables[0], x)

    def _tanh(self, x: Any) -> Any:
        return _found(self.tables[1], x)


def _found(table: Any, x: Any) -> Any:
    return as_int32(table[x + LOWEST])


def _scaled(x: Any, multiplier: float) -> Any:
    factor, shift = quantize_multiplier(np.float64(multiplier))
    return rescaled(x, int(factor), int(shift))
