"""The end of a softmax: exponentials times the reciprocal of their sum."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import lanes_in
from legalize.kernels.ir.types import Vector
from legalize.kernels.ir.vectors import splat, spread, vector_of

LEAST_BITS = 20
"""The sum of at least 1, in Q12.19, has so many bits and more."""

# Of products that have 31 bits: in 32 bits they leave room for the half that rounds.
_FIRST_SHIFT = 22


def result(exponential: Vector, fraction: Vector, down: Vector, zero_point: int) -> Vector:
    """Multiply exponentials by a fraction.

    Args:
        exponential: int32, Q0.31.
        fraction: int32, Q0.31, one for all or one for each.
        down: int32, likewise: the bits that bring products to 8 bits.
        zero_point: of the result.

    Returns:
        uint8, the same bits as those of the output's dtype.
    """
    lanes = lanes_in(exponential)
    wide, unsigned = vector_of("int64", lanes), vector_of("uint32", lanes)
    # Extended after it is repeated, so that it is multiplied as 32 bits.
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
