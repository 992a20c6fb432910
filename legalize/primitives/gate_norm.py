"""The normalization of an LSTM's gate as loops; see qnn_ops.gates."""

from __future__ import annotations

from typing import Any

from tvm.script.ir_builder import tirx as T

from legalize.primitives.integer_loops import as_int32, as_int64, clamped, divided, rescaled
from legalize.primitives.loops import cell, put
from qnn_ops.gates import NORM_BITS, VARIANCE_BITS, norm_multiplier, variance_guard
from qnn_ops.inverse_sqrt import HALF_SQRT_2, HALF_THREE, ITERATIONS

_LARGEST = 2**31 - 1


def write_norm(gate: Any, count: int, weights: Any, bias: Any, row: int, scale: float) -> None:
    """Write the loops that normalize the first ``count`` values of a buffer of int32, in place.

    Args:
        gate: values that int16 holds.
        count: how many.
        weights: int16, [gates, count].
        bias: int32, likewise.
        row: of weights and bias.
        scale: of the weights.
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
    """Write qnn_ops.inverse_sqrt.inverse_sqrt_multiplier of a positive int32.

    Returns:
        Cells of the multiplier and of the shift to the right.
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
    """Shift to the left, and saturate."""
    wide = T.shift_left(as_int64(x), T.int64(bits))
    return as_int32(T.max(T.min(wide, T.int64(_LARGEST)), T.int64(-(2**31))))
