"""Softmax of rows of bytes on microcontrollers: one small function, and one short table.

The terms of a row's sum are computed from the exponentials. The table has only exponentials whose
term is not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_tir
from legalize.kernels.ir.vectors import Array, Buffer, Index, kept
from legalize.kernels.isa.mcu import CORES, RISCV32, flat
from legalize.kernels.kernel import Row
from qnn_ops import quantized_softmax
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.tables.softmax import (
    ACCUMULATOR_BITS,
    FORTY_EIGHT_OVER_17,
    MINUS_32_OVER_17,
    NEWTON_STEPS,
    exp_table,
    sum_term,
)

_BYTES = ("int8", "uint8")
_LARGEST = 2**31 - 1
_ONE_BITS = 31 - ACCUMULATOR_BITS  # 1 in a sum has its top bit here
_MOST_COLUMNS = 1 << (ACCUMULATOR_BITS - 1)  # their sum stays in 31 bits
_FIRST_SHIFT = 22  # of products of 31 bits; leaves room for the half that rounds


def short_table(table: Array) -> Array:
    """Return the exponentials whose term in a sum is not 0, followed by a 0.

    Args:
        table: int32 [256], by distance, from ``exp_table``.
    """
    count = int(np.flatnonzero(sum_term(table)).max(initial=0)) + 1
    return np.append(table[:count], 0).astype(np.int32)


def softmax(
    shape: tuple[int, ...], dtype: str, out_dtype: str, zero_point: int, distances: int
) -> tirx.PrimFunc:
    """Build the function that computes a softmax along the last axis.

    Args:
        shape: the data's shape, with at most 2048 values in a row.
        dtype: the data's dtype, 8 bits.
        out_dtype: the output's dtype, 8 bits.
        zero_point: the output's zero point.
        distances: number of elements of the table.

    Returns:
        A function of the data; the table, int32, from ``short_table``; and the output.
    """
    rows, columns = prod(shape[:-1]), shape[-1]
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("softmax")
        T.func_attr({"global_symbol": "softmax", "tirx.noalias": True})
        data = T.arg("data", T.buffer(shape, dtype))
        table = T.arg("table", T.buffer((distances,), "int32"))
        output = T.arg("output", T.buffer(shape, out_dtype))
        data, output = flat(data), flat(output)
        with T.serial(rows) as row:
            _row(data, table, output, row * columns, columns, zero_point)
    return builder.get()


def _row(
    data: Buffer, table: Buffer, output: Buffer, start: Index, columns: int, zero_point: int
) -> None:
    largest, total = (T.alloc_buffer((1,), "int32", scope="global") for _ in range(2))
    T.buffer_store(largest, T.int32(dtype_range(str(data.dtype))[0]), [0])
    with T.serial(columns) as i:
        T.buffer_store(largest, T.max(largest[0], T.Cast("int32", data[start + i])), [0])
    most = T.int32(int(table.shape[0]) - 1)

    def exponential(i: Index) -> Index:
        distance = largest[0] - T.Cast("int32", data[start + i])
        return kept(table[T.min(distance, most)])

    T.buffer_store(total, T.int32(0), [0])
    with T.serial(columns) as i:
        above = T.shift_right(exponential(i), T.int32(ACCUMULATOR_BITS - 1))
        T.buffer_store(total, total[0] + T.shift_right(above + 1, T.int32(1)), [0])
    fraction, bits = _reciprocal(kept(total[0]), columns)
    down = kept(bits + T.int32(31 - 8 - _FIRST_SHIFT))
    half = kept(T.shift_right(T.shift_left(T.int32(1), down), T.int32(1)))
    with T.serial(columns) as i:
        product = T.shift_right(_product(exponential(i), fraction), T.int32(_FIRST_SHIFT))
        steps = T.min(kept(T.shift_right(product + half, down)), T.int32(255))
        T.buffer_store(output, T.Cast(str(output.dtype), steps + zero_point), [start + i])


def _reciprocal(total: Index, columns: int) -> tuple[Index, Index]:
    """Compute ``qnn_ops.tables.softmax.reciprocal`` of a sum of at most ``columns``."""
    bits = T.int32(0)
    for more in range(1, columns.bit_length()):
        bits = bits + T.Cast("int32", total >= T.int32(1 << (_ONE_BITS + more)))
    bits = kept(bits)
    half_denominator = kept(T.shift_left(total, T.int32(ACCUMULATOR_BITS - 1) - bits))
    x = kept(_product(half_denominator, T.int32(MINUS_32_OVER_17)) + T.int32(FORTY_EIGHT_OVER_17))
    for _ in range(NEWTON_STEPS):
        error = kept(T.int32(1 << 29) - _product(half_denominator, x))
        x = kept(x + _product(x, error) * 4)
    twice = T.shift_left(T.Cast("uint32", x), T.uint32(1))
    return kept(T.Cast("int32", T.min(twice, T.uint32(_LARGEST)))), bits


def _product(a: Index, b: Index) -> Index:
    """Compute gemmlowp's doubling high product of int32."""
    both = T.Cast("int64", a) * T.Cast("int64", b) + T.int64(1 << 30)
    return kept(T.Cast("int32", T.shift_right(both, T.int64(31))))


def _softmax(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr]
) -> relax.Expr | None:
    spec = spec_of(operands[0])
    if attrs.axis % len(spec.shape) != len(spec.shape) - 1 or is_onnxruntime(attrs):
        return None
    if spec.dtype not in _BYTES or attrs.out_dtype not in _BYTES:
        return None
    if 0 in spec.shape or spec.shape[-1] > _MOST_COLUMNS:
        return None
    table = short_table(exp_table(attrs.input_scale, attrs.beta))
    point, operands = attrs.output_zero_point, [operands[0], relax.const(table, "int32")]
    function = softmax(spec.shape, spec.dtype, attrs.out_dtype, point, len(table))
    return call_tir(builder, "softmax", function, operands, spec.shape, attrs.out_dtype)


ROWS: list[Row] = [(quantized_softmax, features, _softmax) for features in (CORES, RISCV32)]
