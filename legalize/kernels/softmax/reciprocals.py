"""The reciprocals of the sums of many rows of a softmax, and the terms of these sums."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import kept
from legalize.kernels.ir.types import Vector
from legalize.kernels.ir.vectors import splat, vector_of
from legalize.kernels.softmax.results import LEAST_BITS
from qnn_ops.softmax_arithmetic import (
    ACCUMULATOR_BITS,
    FORTY_EIGHT_OVER_17,
    MINUS_32_OVER_17,
    NEWTON_STEPS,
)


def term(exponential: Vector, lanes: int) -> Vector:
    """Turn exponentials, Q0.31, into terms of a sum, Q12.19, rounded."""
    unsigned = vector_of("uint32", lanes)
    half = splat("uint32", 1 << (ACCUMULATOR_BITS - 1), lanes)
    term = T.Cast(unsigned, exponential) + half
    term = T.shift_right(term, splat("uint32", ACCUMULATOR_BITS, lanes))
    return T.Cast(vector_of("int32", lanes), term)


def reciprocals(total: Vector, lanes: int) -> tuple[Vector, Vector]:
    """Return fractions and shifts: qnn_ops.softmax_arithmetic.reciprocal of sums below 512.

    A shift is what brings products to 8 bits.
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
