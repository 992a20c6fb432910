"""Expressions of vectors, of bytes above all."""

from __future__ import annotations

import numpy as np
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import lanes_in
from legalize.kernels.ir.types import Vector


def splat(dtype: str, value: float, lanes: int) -> Vector:
    """Return a constant, ``lanes`` times; a scalar for one."""
    scalar = getattr(T, dtype)(value)
    return scalar if lanes == 1 else T.broadcast(scalar, lanes)


def vector_of(dtype: str, lanes: int) -> str:
    """Name a vector's dtype; a scalar's for one lane."""
    return dtype if lanes == 1 else f"{dtype}x{lanes}"


def spread(value: Vector, lanes: int) -> Vector:
    """Return a scalar, ``lanes`` times; as it is what has as many."""
    return value if lanes_in(value) == lanes else T.broadcast(value, lanes)


def flipped(value: Vector) -> Vector:
    """Add 128 to bytes, modulo 256: what turns int8 into uint8 of the same order, and back."""
    return T.bitwise_xor(value, splat("uint8", 128, lanes_in(value)))


def as_unsigned(value: Vector, dtype: str) -> Vector:
    """Subtract the lowest value of ``dtype`` from bytes: uint8."""
    if dtype == "uint8":
        return value
    lanes = lanes_in(value)
    return flipped(T.reinterpret(vector_of("uint8", lanes), value))


def clamped(value: Vector, low: int, high: int) -> Vector:
    """Clamp uint8, where that does anything."""
    lanes = lanes_in(value)
    if low > 0:
        value = T.max(value, splat("uint8", low, lanes))
    if high < np.iinfo(np.uint8).max:
        value = T.min(value, splat("uint8", high, lanes))
    return value


def filled(value: Vector, size: int) -> Vector:
    """Return a vector of bytes repeated to ``size``."""
    lanes = lanes_in(value)
    if lanes == 1:
        return T.broadcast(value, size)
    if lanes == size:
        return value
    return T.Shuffle([value] * (size // lanes), list(range(size)))


def first_lanes(value: Vector, lanes: int) -> Vector:
    """Return the first lanes of a vector."""
    if lanes == lanes_in(value):
        return value
    return T.Shuffle([value], [0] if lanes == 1 else list(range(lanes)))
