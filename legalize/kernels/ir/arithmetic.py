"""Arithmetic of vectors: functions of float32, and TFLite's rescaling of integers."""

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Vector, instruction, lanes_in, splat, vector_of

_SIZE_BITS, _INFINITY = 0x7FFFFFFF, 0x7F800000
# The largest number below one half: adding it before truncation rounds ties away from zero, and
# does not lift numbers just below a half to one.
_ALMOST_HALF = float(np.nextafter(np.float32(0.5), np.float32(0)))
_WHOLES = 1.5 * 2.0**23
_WHOLES_BITS = int(np.float32(_WHOLES).view(np.int32))


def magnitude_bits(value: Vector) -> Vector:
    """Return the bits of float32 without their sign, as int32."""
    lanes = lanes_in(value)
    bits = T.reinterpret(vector_of("int32", lanes), value)
    return T.bitwise_and(bits, splat("int32", _SIZE_BITS, lanes))


def zero_for_nan(value: Vector) -> Vector:
    """Return float32 with 0 in place of NaN."""
    return or_for_nan(value, splat("float32", 0.0, lanes_in(value)))


def or_for_nan(value: Vector, other: Vector) -> Vector:
    """Return float32 with another value in place of NaN."""
    # ``value == value`` does not serve: TVM assumes that every number equals itself.
    is_number = magnitude_bits(value) <= splat("int32", _INFINITY, lanes_in(value))
    return T.Select(is_number, value, other)


def round_half_even(value: Vector) -> Vector:
    """Round float32 of at most 22 bits to int32, ties to even."""
    lanes = lanes_in(value)
    # The last bit of the sum is worth 1, so the sum is a whole number.
    total = T.reinterpret(vector_of("int32", lanes), value + splat("float32", _WHOLES, lanes))
    return total - splat("int32", _WHOLES_BITS, lanes)


def round_half_away(value: Vector) -> Vector:
    """Round float32 in the range of int32 to int32, ties away from zero."""
    lanes = lanes_in(value)
    half = instruction(
        vector_of("float32", lanes),
        f"llvm.copysign.{'' if lanes == 1 else f'v{lanes}'}f32",
        splat("float32", _ALMOST_HALF, lanes),
        value,
    )
    return T.Cast(vector_of("int32", lanes), value + half)


def fused_multiply_add(a: Vector, b: Vector, c: Vector) -> Vector:
    """Return a · b + c of float32, rounded once, by the processor's instruction."""
    lanes = lanes_in(a)
    name = f"llvm.fma.{'' if lanes == 1 else f'v{lanes}'}f32"
    return instruction(vector_of("float32", lanes), name, a, b, c)


def rounded_apart(value: Vector) -> Vector:
    """Return a float32 product that LLVM does not fuse into a multiply-add."""
    lanes = lanes_in(value)
    name = f"llvm.arithmetic.fence.{'' if lanes == 1 else f'v{lanes}'}f32"
    return instruction(vector_of("float32", lanes), name, value)


LARGEST = (1 << 30) - 1
"""The largest argument of ``rescaled``."""


def rescaled(x: Vector, multiplier: int, shift: int) -> Vector:
    """Rescale as qnn_ops.arithmetic.fixed_point.multiply_by_quantized_multiplier does.

    Args:
        x: int32, one or a vector; at most ``LARGEST`` from zero.
        multiplier: not negative.
        shift: -31 to 31, positive to the left; results beyond 32 bits wrap.
    """
    if shift > 0:
        return _rescaled_left(x, multiplier, shift)
    suffix = _suffix(x)
    # This is the upper half of twice the product: processors have no cheaper shift of 64 bits.
    product = T.Cast(f"int64{suffix}", x + x) * _wide(x, multiplier)
    high = T.Cast(f"int32{suffix}", T.shift_right(product + _wide(x, 1 << 31), _wide(x, 32)))
    return divided_by_power(high, -shift)


def rescaled_any(x: Vector, multiplier: int, shift: int) -> Vector:
    """Rescale any int32, as ``rescaled`` does numbers up to ``LARGEST``."""
    high = _rescaled_left(x, multiplier, max(shift, 0))
    if shift >= 0:
        return high
    lanes, exponent = lanes_in(x), -shift
    # No half is added before the shift, as the sum might leave 32 bits.
    rest = T.bitwise_and(high, splat("int32", (1 << exponent) - 1, lanes))
    half = splat("int32", (1 << (exponent - 1)) - 1, lanes)
    half = half - T.shift_right(high, splat("int32", 31, lanes))
    quotient = T.shift_right(high, splat("int32", exponent, lanes))
    return quotient + T.Cast(vector_of("int32", lanes), rest > half)


def divided_by_power(x: Vector, exponent: int) -> Vector:
    """Divide as qnn_ops.arithmetic.fixed_point.rounding_divide_by_pot does."""
    if not exponent:
        return x
    lanes = lanes_in(x)

    def narrow(value: int) -> Vector:
        return splat("int32", value, lanes)

    # Ties round away from zero, so a negative tie rounds down.
    half = narrow(1 << (exponent - 1)) + T.shift_right(x, narrow(31))
    return T.shift_right(x + half, narrow(exponent))


def _rescaled_left(x: Vector, multiplier: int, shift: int) -> Vector:
    suffix = _suffix(x)
    # Overflow is defined in unsigned lanes.
    unsigned = T.reinterpret(f"uint32{suffix}", x)
    lifted = T.shift_left(unsigned, splat("uint32", shift, lanes_in(x)))
    product = T.Cast(f"int64{suffix}", T.reinterpret(f"int32{suffix}", lifted))
    high = T.shift_right(product * _wide(x, multiplier) + _wide(x, 1 << 30), _wide(x, 31))
    return T.Cast(f"int32{suffix}", high)


def _suffix(x: Vector) -> str:
    return "" if lanes_in(x) == 1 else f"x{lanes_in(x)}"


def _wide(x: Vector, value: int) -> Vector:
    return splat("int64", value, lanes_in(x))
