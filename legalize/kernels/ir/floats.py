"""Expressions of vectors of float32."""

from __future__ import annotations

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import lanes_in
from legalize.kernels.ir.types import Vector
from legalize.kernels.ir.vectors import splat, vector_of

_SIZE_BITS, _INFINITY = 0x7FFFFFFF, 0x7F800000
# The largest number below one half: adding it rounds ties away from zero when truncated, and does
# not lift what is just below a half to one.
_ALMOST_HALF = float(np.nextafter(np.float32(0.5), np.float32(0)))
_WHOLES = 1.5 * 2.0**23
_WHOLES_BITS = int(np.float32(_WHOLES).view(np.int32))


def magnitude_bits(value: Vector) -> Vector:
    """Return the bits of float32 without their sign, as int32."""
    lanes = lanes_in(value)
    bits = T.reinterpret(vector_of("int32", lanes), value)
    return T.bitwise_and(bits, splat("int32", _SIZE_BITS, lanes))


def zero_for_nan(value: Vector) -> Vector:
    """Return float32 with 0 for what is no number."""
    return or_for_nan(value, splat("float32", 0.0, lanes_in(value)))


def or_for_nan(value: Vector, other: Vector) -> Vector:
    """Return float32 with another for what is no number."""
    # Not ``value == value``: TVM takes every number for equal to itself.
    is_number = magnitude_bits(value) <= splat("int32", _INFINITY, lanes_in(value))
    return T.Select(is_number, value, other)


def round_half_even(value: Vector) -> Vector:
    """Round float32 that 22 bits hold to int32, ties to even."""
    lanes = lanes_in(value)
    # Where the last bit of a float32 is worth 1, the sum is a whole number.
    total = T.reinterpret(vector_of("int32", lanes), value + splat("float32", _WHOLES, lanes))
    return total - splat("int32", _WHOLES_BITS, lanes)


def round_half_away(value: Vector) -> Vector:
    """Round float32 that int32 holds to int32, ties away from zero."""
    lanes = lanes_in(value)
    half = T.call_llvm_pure_intrin(
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
    return T.call_llvm_pure_intrin(vector_of("float32", lanes), name, a, b, c)


def rounded_apart(value: Vector) -> Vector:
    """Return a float32 product that LLVM makes no fused multiply-add of."""
    lanes = lanes_in(value)
    name = f"llvm.arithmetic.fence.{'' if lanes == 1 else f'v{lanes}'}f32"
    return T.call_llvm_pure_intrin(vector_of("float32", lanes), name, value)
