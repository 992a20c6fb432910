"""Softmax of rows of bytes on microcontrollers: one small function, and one short table.

The terms of a row's sum are computed from the exponentials. The table has only exponentials whose
term is not 0.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import relax, tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.call import call_tir
from legalize.kernels.ir.vectors import Array, Buffer, Index, kept
from legalize.kernels.isa.mcu import CORES, RISCV32
from legalize.kernels.kernel import Row
from legalize.kernels.softmax.steps import reciprocals, result
from legalize.written import arguments, new_function
from qnn_ops import quantized_softmax
from qnn_ops.arithmetic.onnxruntime import is_onnxruntime
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import Attrs, spec_of
from qnn_ops.tables.softmax import ACCUMULATOR_BITS, exp_table, sum_term

_BYTES = ("int8", "uint8")
_MOST_COLUMNS = 1 << (ACCUMULATOR_BITS - 1)  # their sum stays in 31 bits


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
    with new_function("softmax") as builder:
        data, table, output = arguments(
            data=(shape, dtype), table=((distances,), "int32"), output=(shape, out_dtype)
        )
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
    fraction, down = map(kept, reciprocals(kept(total[0]), columns.bit_length() - 1))
    with T.serial(columns) as i:
        value = result(exponential(i), fraction, down, zero_point)
        T.buffer_store(output, T.reinterpret(str(output.dtype), value), [start + i])


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
