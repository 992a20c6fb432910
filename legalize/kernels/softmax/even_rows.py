"""Softmax of many short rows of 4, 8 or 16 values, in vectors that span several rows.

    for each block of as many rows as four vectors have lanes of int32
      largest[row] = the larger one of neighbours, and of these, until one a row is left
      exponentials = table[largest − x], byte by byte of the table
      total[row] = Σ exponentials, each as a term, by neighbours, too
      fraction, down = reciprocal(total)
      outputs = exponentials · fraction, rounded to 8 bits

It serves instruction sets that look up bytes in registers: a load of a word for each lane takes
several times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import ramp
from legalize.kernels.ir.vectors import DWORD, Vector, as_unsigned, kept, lanes_in
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.softmax.steps import byte_tables, reciprocals, result, term

_DISTANCES = 256
_LENGTHS = (4, 8, 16)
# Vectors of rows at a time: while one vector waits for a step of its reciprocals, others compute.
_AT_ONCE = 4


def has_even_rows(isa: VectorIsa, shape: tuple[int, ...]) -> bool:
    """Tell whether the function serves a shape."""
    are_many = prod(shape[:-1]) >= _AT_ONCE * isa.size // DWORD
    return isa.has_plain_tables and shape[-1] in _LENGTHS and are_many


def even_rows(
    isa: VectorIsa, shape: tuple[int, ...], dtype: str, out_dtype: str, output_zero_point: int
) -> tirx.PrimFunc:
    """Build the function that computes a softmax along the last axis.

    Args:
        isa: the vectors.
        shape: the data's shape, which ``has_even_rows`` accepts.
        dtype: the data's dtype.
        out_dtype: the output's dtype.
        output_zero_point: the output's zero point.

    Returns:
        A function of the data, of exponentials and terms of the sum by a value's distance from the
        largest, int32 [256] each, and of the output.
    """
    columns, rows, lanes = shape[-1], prod(shape[:-1]), isa.size // DWORD
    at_once = _AT_ONCE * lanes
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("softmax")
        T.func_attr({"global_symbol": "softmax", "tirx.noalias": True})
        data = T.arg("data", T.buffer(shape, dtype))
        exponentials = T.arg("exponentials", T.buffer((_DISTANCES,), "int32"))
        T.arg("terms", T.buffer((_DISTANCES,), "int32"))
        output = T.arg("output", T.buffer(shape, out_dtype))
        source = T.decl_buffer((rows * columns,), dtype, data=data.data)
        target = T.decl_buffer((rows * columns,), "uint8", data=output.data)
        tables = byte_tables(isa, exponentials, DWORD)
        with T.serial(-(-rows // at_once)) as block:
            # The last block overlaps the one before, so that it ends with the data.
            first = T.min(block * at_once, T.int32(rows - at_once)) * columns
            parts = range(0, at_once * columns, isa.size)
            values = [
                kept(as_unsigned(source[ramp(first + part, isa.size)], dtype)) for part in parts
            ]
            largest = kept(_of_neighbours(T.max, values, at_once))
            words = []
            for part, value in zip(parts, values, strict=True):
                distance = kept(_of_rows(largest, part, isa.size, columns) - value)
                words += _joined(isa, [kept(isa.look_up(table, distance)) for table in tables])
            total = _of_neighbours(_sum, [term(word, lanes) for word in words], at_once)
            fraction, down = (kept(each) for each in reciprocals(kept(total), at_once))
            for number, word in enumerate(words):
                start = number * lanes
                factor, shift = (_of_rows(each, start, lanes, columns) for each in (fraction, down))
                value = result(word, factor, shift, output_zero_point)
                T.buffer_store(target, value, [ramp(first + start, lanes)])
    return builder.get()


def _joined(isa: VectorIsa, parts: list[Vector]) -> list[Vector]:
    """Join the bytes of int32, given as four vectors of bytes: return four vectors of int32."""
    size, half, quarter = isa.size, isa.size // 2, isa.size // DWORD
    words = []
    for start in (0, half):
        places = [place for i in range(start, start + half) for place in (i, size + i)]
        lower, upper = (
            T.reinterpret(f"uint16x{half}", T.Shuffle(parts[i : i + 2], places)) for i in (0, 2)
        )
        for begin in (0, quarter):
            pairs = [place for i in range(begin, begin + quarter) for place in (i, half + i)]
            word = T.Shuffle([kept(lower), kept(upper)], pairs)
            words.append(kept(T.reinterpret(f"int32x{quarter}", word)))
    return words


def _of_neighbours(
    operation: Callable[[Vector, Vector], Vector], vectors: list[Vector], count: int
) -> Vector:
    """Combine neighbouring lanes of consecutive vectors until ``count`` are left."""
    lanes = lanes_in(vectors[0])
    while len(vectors) * lanes > count:
        pairs = [vectors[i : i + 2] for i in range(0, len(vectors), 2)]
        vectors = [kept(_combined(operation, pair, len(pair) * lanes)) for pair in pairs]
        lanes = lanes_in(vectors[0])
    return T.Shuffle(vectors, list(range(count)))


def _combined(
    operation: Callable[[Vector, Vector], Vector], vectors: list[Vector], lanes: int
) -> Vector:
    even, odd = (T.Shuffle(vectors, list(range(first, lanes, 2))) for first in (0, 1))
    return operation(even, odd)


def _sum(a: Vector, b: Vector) -> Vector:
    return a + b


def _of_rows(values: Vector, start: int, lanes: int, columns: int) -> Vector:
    """Repeat each row's value for all its columns, from an element of the block on."""
    # A shuffle may not have more lanes than it reads.
    times = -(-lanes // lanes_in(values))
    return T.Shuffle([values] * times, [(start + i) // columns for i in range(lanes)])
