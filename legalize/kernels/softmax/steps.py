"""The steps of a softmax's rows: tables, largest values, reciprocals and results."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import for_each_piece, ramp
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    kept,
    lanes_in,
    splat,
    spread,
    vector_of,
)
from legalize.kernels.isa.base import VectorIsa
from qnn_ops.tables.softmax import (
    ACCUMULATOR_BITS,
    FORTY_EIGHT_OVER_17,
    MINUS_32_OVER_17,
    NEWTON_STEPS,
)


def byte_tables(isa: VectorIsa, words: Buffer, count: int) -> list[Buffer]:
    """Write the code that splits a table of int32 into tables of its lowest ``count`` bytes."""
    size, (length,) = isa.size, (int(each) for each in words.shape)
    tables = [T.alloc_buffer((length,), "uint8", scope="global") for _ in range(count)]
    with T.serial(length // size) as part:
        index = ramp(part * size, size)
        for place, table in enumerate(tables):
            byte = T.shift_right(words[index], splat("int32", 8 * place, size))
            T.buffer_store(table, T.Cast(f"uint8x{size}", byte), [index])
    return tables


def largest_of(isa: VectorIsa, source: Buffer, start: Index, columns: int) -> Vector:
    """Write the loop over a row that finds its largest value."""
    dtype = str(source.dtype)
    lanes = isa.size if columns >= isa.size else 1
    largest = T.alloc_buffer((lanes,), dtype, scope="global")
    everything = ramp(0, lanes)
    T.buffer_store(largest, source[ramp(start, lanes)], [everything])

    def compare(i: Index, width: int) -> None:
        value = T.max(largest[everything], source[ramp(start + i, width)])
        T.buffer_store(largest, value, [everything])

    if lanes == 1:
        with T.serial(columns) as i:
            compare(i, 1)
        return largest[0]
    for_each_piece(columns, compare, lanes)
    name = "smax" if dtype == "int8" else "umax"
    name = f"llvm.vector.reduce.{name}.v{lanes}i8"
    return T.call_llvm_pure_intrin(dtype, name, largest[everything])


LEAST_BITS = 20
"""The fewest bits of a sum in Q12.19: a sum is at least 1."""

# The first shift of products of 31 bits; it leaves room in 32 bits for the half that rounds.
_FIRST_SHIFT = 22


def result(exponential: Vector, fraction: Vector, down: Vector, zero_point: int) -> Vector:
    """Multiply exponentials by a fraction.

    Args:
        exponential: int32, Q0.31.
        fraction: int32, Q0.31, one for all or one for each.
        down: int32, one for all or one for each: the right shift of products to 8 bits.
        zero_point: the result's zero point.

    Returns:
        uint8, with the bits of the output's dtype.
    """
    lanes = lanes_in(exponential)
    wide, unsigned = vector_of("int64", lanes), vector_of("uint32", lanes)
    # The fraction is widened after it is repeated, so that it is multiplied as 32 bits.
    factor = T.Cast(wide, spread(fraction, lanes))
    product = T.Cast(wide, exponential) * factor + splat("int64", 1 << 30, lanes)
    high = T.Cast(unsigned, T.shift_right(product, splat("int64", 31, lanes)))
    high = T.shift_right(high, splat("uint32", _FIRST_SHIFT, lanes))
    each = lanes_in(down)
    left = T.Cast(vector_of("uint32", each), down - splat("int32", _FIRST_SHIFT, each))
    one = splat("uint32", 1, each)
    half = T.shift_left(one, left - one)
    steps = T.shift_right(high + spread(half, lanes), spread(left, lanes))
    steps = T.min(steps, splat("uint32", 255, lanes))
    value = T.Cast(vector_of("uint8", lanes), steps)
    return value + splat("uint8", zero_point % 256, lanes)


def term(exponential: Vector, lanes: int) -> Vector:
    """Turn exponentials, Q0.31, into terms of a sum, Q12.19, rounded."""
    unsigned = vector_of("uint32", lanes)
    half = splat("uint32", 1 << (ACCUMULATOR_BITS - 1), lanes)
    term = T.Cast(unsigned, exponential) + half
    term = T.shift_right(term, splat("uint32", ACCUMULATOR_BITS, lanes))
    return T.Cast(vector_of("int32", lanes), term)


def reciprocals(total: Vector, lanes: int) -> tuple[Vector, Vector]:
    """Return fractions and shifts: qnn_ops.tables.softmax.reciprocal of sums below 512.

    A shift reduces products to 8 bits.
    """
    wide = vector_of("int32", lanes)
    bits = splat("int32", 0, lanes)
    for power in range(LEAST_BITS, LEAST_BITS + ACCUMULATOR_BITS - 1):
        bits = bits + T.Cast(wide, total >= splat("int32", 1 << power, lanes))
    bits = kept(bits)
    half_denominator = kept(T.shift_left(total, splat("int32", ACCUMULATOR_BITS - 1, lanes) - bits))
    product = _product(half_denominator, splat("int32", MINUS_32_OVER_17, lanes), lanes)
    x = kept(product + splat("int32", FORTY_EIGHT_OVER_17, lanes))
    for _ in range(NEWTON_STEPS):
        error = splat("int32", 1 << 29, lanes) - _product(half_denominator, x, lanes)
        x = kept(x + _product(x, error, lanes) * splat("int32", 4, lanes))
    one = splat("int32", 2**31 - 1, lanes)
    fraction = T.Select(x >= splat("int32", 1 << 30, lanes), one, x * splat("int32", 2, lanes))
    return fraction, bits + splat("int32", 23, lanes)


def _product(a: Vector, b: Vector, lanes: int) -> Vector:
    """Compute gemmlowp's doubling high product, which fits int32."""
    wide = vector_of("int64", lanes)
    product = T.Cast(wide, a) * T.Cast(wide, b) + splat("int64", 1 << 30, lanes)
    return T.Cast(vector_of("int32", lanes), T.shift_right(product, splat("int64", 31, lanes)))
