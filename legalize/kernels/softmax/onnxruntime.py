"""Softmax of rows of bytes as in ONNX Runtime: sequential sums, and quotients in float64.

    for each block of rows
      for each column
        for each row of the block
          term = table[largest − x]
          total += term
      for each row of the block
        for each column
          output = round(term·factor / total) + zero point, clamped

Each addition waits for the one before it, so the sums of several rows are computed in parallel.
"""

from functools import cache
from math import prod

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    kept,
    lanes_in,
    local_vector,
    splat,
    spread,
    vector_of,
)
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.softmax.kernel import DISTANCES
from legalize.kernels.softmax.steps import largest_of
from legalize.written import arguments, new_function
from qnn_ops.dialect.attributes import dtype_range

# The most rows of a block.
_ROWS = 8
_DOUBLE = 8
_WHOLES = 1.5 * 2.0**52
_WHOLES_BITS = int(np.float64(_WHOLES).view(np.int64))


@cache
def softmax_onnxruntime(
    isa: VectorIsa,
    shape: tuple[int, ...],
    dtype: str,
    out_dtype: str,
    output_zero_point: int,
    factor: float,
) -> tirx.PrimFunc:
    """Build the function that computes a softmax along the last axis.

    Args:
        isa: the vectors.
        shape: the data's shape.
        dtype: the data's dtype.
        out_dtype: the output's dtype.
        output_zero_point: the output's zero point.
        factor: number of output steps in 1, the inverse of the output's scale.

    Returns:
        A function of the data; the exponentials by a value's distance from the largest,
        float32 [256]; and the output.
    """
    rows, columns = prod(shape[:-1]), shape[-1]
    # The fewest blocks of equal sizes.
    count = -(-rows // -(-rows // _ROWS))
    with new_function("softmax") as builder:
        source, table, target = arguments(
            data=(shape, dtype), table=((DISTANCES,), "float32"), output=(shape, out_dtype)
        )
        terms = T.alloc_buffer((count * columns,), "float32", scope="global")

        def write(start: int, first: Index, total: Vector) -> None:
            def piece(offset: Index, lanes: int) -> None:
                exponentials = terms[ramp(start + offset, lanes)]
                value = _quotients(exponentials, factor, total, output_zero_point, out_dtype)
                T.buffer_store(target, value, [ramp(first + start + offset, lanes)])

            for_each_piece(columns, piece, isa.size // _DOUBLE)

        def block(row: Index, count: int) -> None:
            first = row * columns
            totals = _terms(isa, source, table, terms, first, count, columns)
            for place, total in enumerate(totals):
                write(place * columns, first, total)

        for_each_piece(rows, block, count)
    return builder.get()


def _terms(
    isa: VectorIsa,
    source: Buffer,
    table: Buffer,
    terms: Buffer,
    start: Index,
    count: int,
    columns: int,
) -> list[Vector]:
    """Write the exponentials of some rows, and return their sums."""
    largest = [
        kept(T.Cast("int32", largest_of(isa, source, start + row * columns, columns)))
        for row in range(count)
    ]
    totals = [local_vector(1, "float32") for _ in range(count)]
    for total in totals:
        T.buffer_store(total, T.float32(0), [0])
    with T.serial(columns) as column:
        for row, total in enumerate(totals):
            place = row * columns + column
            term = kept(table[largest[row] - T.Cast("int32", source[start + place])])
            T.buffer_store(terms, term, [place])
            T.buffer_store(total, total[0] + term, [0])
    return [kept(T.Cast("float64", total[0])) for total in totals]


def _quotients(terms: Vector, factor: float, total: Vector, zero_point: int, dtype: str) -> Vector:
    """Return the outputs of exponentials, given their sum."""
    lanes = lanes_in(terms)
    product = T.Cast(vector_of("float64", lanes), terms) * splat("float64", factor, lanes)
    quotient = kept(product / spread(total, lanes))
    # The last bit of the sum is worth 1, so the sum is a whole number.
    sums = quotient + splat("float64", _WHOLES, lanes)
    bits = T.reinterpret(vector_of("int64", lanes), sums)
    steps = bits - splat("int64", _WHOLES_BITS - zero_point, lanes)
    low, high = dtype_range(dtype)
    whole = T.Cast(vector_of("int32", lanes), steps)
    whole = T.max(T.min(whole, splat("int32", high, lanes)), splat("int32", low, lanes))
    return T.Cast(vector_of(dtype, lanes), whole)
