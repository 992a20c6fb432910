"""Softmax of many short rows, which computes a reciprocal in each lane of a vector.

    for each block of rows
      for each row of it
        exponentials[row] = table[largest − x]
        total[row] = Σ exponentials[row], each as a term
      fraction, down = reciprocal(total)
      for each row of it
        output = exponentials[row]·fraction[row], rounded to 8 bits

The last block overlaps the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import powers_of_two, ramp
from legalize.kernels.ir.vectors import DWORD, Index, Vector, kept, vector_of
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.softmax.steps import reciprocals, result, term

_DISTANCES = 256


def many_rows(
    isa: VectorIsa, shape: tuple[int, ...], dtype: str, out_dtype: str, output_zero_point: int
) -> tirx.PrimFunc:
    """Build the function that computes a softmax along the last axis.

    Args:
        isa: the vectors.
        shape: the data's shape. The last axis is so short that no sum reaches 512. There are at
            least as many rows as a vector has lanes of int32.
        dtype: the data's dtype.
        out_dtype: the output's dtype.
        output_zero_point: the output's zero point.

    Returns:
        A function of the data, of exponentials and terms of the sum by a value's distance from the
        largest, int32 [256] each, and of the output.
    """
    columns, rows, lanes = shape[-1], prod(shape[:-1]), isa.size // DWORD
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("softmax")
        T.func_attr({"global_symbol": "softmax", "tirx.noalias": True})
        data = T.arg("data", T.buffer(shape, dtype))
        table = T.arg("exponentials", T.buffer((_DISTANCES,), "int32"))
        T.arg("terms", T.buffer((_DISTANCES,), "int32"))
        output = T.arg("output", T.buffer(shape, out_dtype))
        source = T.decl_buffer((rows * columns,), dtype, data=data.data)
        target = T.decl_buffer((rows * columns,), out_dtype, data=output.data)
        exponentials = T.alloc_buffer((lanes * columns,), "int32", scope="global")
        total, fraction, down = (
            T.alloc_buffer((lanes,), "int32", scope="global") for _ in range(3)
        )
        every = ramp(0, lanes)
        with T.serial(-(-rows // lanes)) as block:
            # The last block overlaps the one before, so that it ends with the data.
            first = T.min(block * lanes, T.int32(rows - lanes)) * columns
            with T.serial(lanes) as row:
                start, place = first + row * columns, row * columns
                largest = kept(T.Cast("int32", _largest(source, start, columns, dtype)))
                with T.serial(columns) as i:
                    distance = largest - T.Cast("int32", source[start + i])
                    T.buffer_store(exponentials, table[distance], [place + i])
                T.buffer_store(total, T.int32(0), [row])

                def add(i: Index, width: int, place: Index = place, row: Index = row) -> None:
                    value = term(exponentials[ramp(place + i, width)], width)
                    T.buffer_store(total, total[row] + _reduced("add", value, width), [row])

                _for_each_part(columns, lanes, add)
            quotient, bits = reciprocals(kept(total[every]), lanes)
            T.buffer_store(fraction, quotient, [every])
            T.buffer_store(down, bits, [every])
            with T.serial(lanes) as row:
                factor, shift = kept(fraction[row]), kept(down[row])

                def write(
                    i: Index,
                    width: int,
                    row: Index = row,
                    factor: Vector = factor,
                    shift: Vector = shift,
                ) -> None:
                    exponential = exponentials[ramp(row * columns + i, width)]
                    value = result(exponential, factor, shift, output_zero_point)
                    value = T.reinterpret(vector_of(out_dtype, width), value)
                    T.buffer_store(target, value, [ramp(first + row * columns + i, width)])

                _for_each_part(columns, lanes, write)
    return builder.get()


def _for_each_part(columns: int, lanes: int, body: Callable[[Index, int], None]) -> None:
    """Call ``body`` for parts of a row that do not overlap."""
    whole, rest = divmod(columns, lanes)
    if whole:
        with T.serial(whole) as i:
            body(i * lanes, lanes)
    for offset, width in powers_of_two(rest):
        body(whole * lanes + offset, width)


def _largest(source: Vector, start: Index, columns: int, dtype: str) -> Vector:
    """Return the largest value of a row."""
    name = "smax" if dtype == "int8" else "umax"
    parts = (
        _reduced(name, source[ramp(start + offset, width)], width)
        for offset, width in powers_of_two(columns)
    )
    largest = next(parts)
    for part in parts:
        largest = T.max(largest, part)
    return largest


def _reduced(name: str, value: Vector, lanes: int) -> Vector:
    """Reduce all lanes to their sum or to the largest."""
    if lanes == 1:
        return value
    dtype = str(value.ty.dtype).split("x")[0]
    name = f"llvm.vector.reduce.{name}.v{lanes}i{8 if name != 'add' else 32}"
    return T.call_llvm_pure_intrin(dtype, name, value)
