"""TFLite's rescaling of integers, step by step."""

from __future__ import annotations

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import lanes_in
from legalize.kernels.ir.types import Vector
from legalize.kernels.ir.vectors import splat, vector_of

LARGEST = (1 << 30) - 1
"""The arguments of ``rescaled``."""


def rescaled(x: Vector, multiplier: int, shift: int) -> Vector:
    """Rescale as qnn_ops.arithmetic.multiply_by_quantized_multiplier does.

    Args:
        x: int32, one or a vector; at most ``LARGEST`` from zero.
        multiplier: not negative.
        shift: -31 to 31, positive to the left; what leaves 32 bits wraps.
    """
    if shift > 0:
        return _rescaled_left(x, multiplier, shift)
    suffix = _suffix(x)
    # The upper half of twice the product: processors have no cheaper shift of 64 bits.
    product = T.Cast(f"int64{suffix}", x + x) * _wide(x, multiplier)
    high = T.Cast(f"int32{suffix}", T.shift_right(product + _wide(x, 1 << 31), _wide(x, 32)))
    return divided_by_power(high, -shift)


def rescaled_any(x: Vector, multiplier: int, shift: int) -> Vector:
    """Rescale any int32, as ``rescaled`` does those that are not too large."""
    high = _rescaled_left(x, multiplier, max(shift, 0))
    if shift >= 0:
        return high
    lanes, exponent = lanes_in(x), -shift
    # A half is not added before the shift, which might leave 32 bits.
    rest = T.bitwise_and(high, splat("int32", (1 << exponent) - 1, lanes))
    half = splat("int32", (1 << (exponent - 1)) - 1, lanes)
    half = half - T.shift_right(high, splat("int32", 31, lanes))
    quotient = T.shift_right(high, splat("int32", exponent, lanes))
    return quotient + T.Cast(vector_of("int32", lanes), rest > half)


def divided_by_power(x: Vector, exponent: int) -> Vector:
    """Divide as qnn_ops.arithmetic.rounding_divide_by_pot does."""
    if not exponent:
        return x
    lanes = lanes_in(x)

    def narrow(value: int) -> Vector:
        return splat("int32", value, lanes)

    # Half away from zero: a negative number rounds down at a tie.
    half = narrow(1 << (exponent - 1)) + T.shift_right(x, narrow(31))
    return T.shift_right(x + half, narrow(exponent))


def _rescaled_left(x: Vector, multiplier: int, shift: int) -> Vector:
    suffix = _suffix(x)
    # In unsigned lanes, where an overflow is defined.
    unsigned = T.reinterpret(f"uint32{suffix}", x)
    lifted = T.shift_left(unsigned, splat("uint32", shift, lanes_in(x)))
    product = T.Cast(f"int64{suffix}", T.reinterpret(f"int32{suffix}", lifted))
    high = T.shift_right(product * _wide(x, multiplier) + _wide(x, 1 << 30), _wide(x, 31))
    return T.Cast(f"int32{suffix}", high)


def _suffix(x: Vector) -> str:
    return "" if lanes_in(x) == 1 else f"x{lanes_in(x)}"


def _wide(x: Vector, value: int) -> Vector:
    return splat("int64", value, lanes_in(x))
