"""Softmax of rows of bytes in one function: its arithmetic is mostly one division a row.

As seven functions, one a primitive, calling them took longer than what they compute.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from qnn_ops.softmax_arithmetic import (
    ACCUMULATOR_BITS,
    FORTY_EIGHT_OVER_17,
    LARGEST_SUM,
    MINUS_32_OVER_17,
    NEWTON_STEPS,
)

# The sum of at least 1, in Q12.19, has so many bits and more.
_LEAST_BITS = 20


@cache
def softmax(
    shape: tuple[int, ...], dtype: str, out_dtype: str, output_zero_point: int
) -> tirx.PrimFunc:
    """Build the function that computes a softmax along the last axis.

    Returns:
        A function of the data; exponentials and terms of the sum by a value's distance from the
        largest, int32 [256] each, as ``qnn_ops.softmax_arithmetic`` gives them; and the output.
    """
    rows, columns = prod(shape[:-1]), shape[-1]
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("softmax")
        T.func_attr({"global_symbol": "softmax", "tirx.noalias": True})
        data = T.arg("data", T.buffer(shape, dtype))
        exponentials = T.arg("exponentials", T.buffer((256,), "int32"))
        terms = T.arg("terms", T.buffer((256,), "int32"))
        output = T.arg("output", T.buffer(shape, out_dtype))
        source = T.decl_buffer((rows * columns,), dtype, data=data.data)
        target = T.decl_buffer((rows * columns,), out_dtype, data=output.data)
        largest = T.alloc_buffer((1,), dtype, scope="global")
        total, fraction, down = (T.alloc_buffer((1,), "int64", scope="global") for _ in range(3))
        with T.serial(rows) as row:
            start = row * columns
            T.buffer_store(largest, source[start], [0])
            with T.serial(columns) as i:
                T.buffer_store(largest, T.max(largest[0], source[start + i]), [0])

            def distance(i: Any, start: Any = start) -> Any:
                return T.Cast("int32", largest[0]) - T.Cast("int32", source[start + i])

            T.buffer_store(total, T.int64(0), [0])
            with T.serial(columns) as i:
                T.buffer_store(total, total[0] + T.Cast("int64", terms[distance(i)]), [0])
            T.buffer_store(total, T.min(total[0], T.int64(LARGEST_SUM)), [0])
            _reciprocal(total[0], fraction, down)
            half = T.shift_left(T.int64(1), down[0] - T.int64(1))
            with T.serial(columns) as i:
                exponential = T.Cast("int64", exponentials[distance(i)])
                steps = T.shift_right(_product(fraction[0], exponential) + half, down[0])
                value = T.min(steps, T.int64(255)) + T.int64(output_zero_point)
                T.buffer_store(target, T.Cast(out_dtype, value), [start + i])
    return builder.get()


def _reciprocal(total: Any, fraction: Any, down: Any) -> None:
    """Write qnn_ops.softmax_arithmetic.reciprocal; ``down`` is what brings products to 8 bits."""
    bits = T.int64(0)
    for power in range(_LEAST_BITS, 31):
        bits = bits + T.Cast("int64", total >= T.int64(1 << power))
    T.buffer_store(down, bits + T.int64(23), [0])
    to_one = T.int64(ACCUMULATOR_BITS + 23) - down[0]
    half_denominator = T.shift_right(T.shift_left(total, to_one), T.int64(1))
    product = _product(half_denominator, T.int64(MINUS_32_OVER_17))
    T.buffer_store(fraction, product + T.int64(FORTY_EIGHT_OVER_17), [0])
    for _ in range(NEWTON_STEPS):
        error = T.int64(1 << 29) - _product(half_denominator, fraction[0])
        better = fraction[0] + _product(fraction[0], error) * T.int64(4)
        T.buffer_store(fraction, better, [0])
    T.buffer_store(fraction, T.min(fraction[0] * T.int64(2), T.int64(2**31 - 1)), [0])


def _product(a: Any, b: Any) -> Any:
    """Gemmlowp's doubling high product of int64 expressions that hold int32 values."""
    return T.shift_right(a * b + T.int64(1 << 30), T.int64(31))
