"""Ranges and scales: in numpy if they are known, otherwise in the model's function.

MXNet computes ranges in float32, and rounds each operation. numpy does the same with float32
arrays, and so does Relax. So one formula serves all models: import computes it for calibrated
models, and it becomes part of the function of other models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from tvm import relax
from tvm.relax import op as R

Array = np.ndarray[Any, Any]

Value: TypeAlias = "relax.Expr | Array"
"""An expression, or an array if the value is known when the model is imported: a parameter of the
file, a calibrated range."""


_LEVELS = {"int8": 127.5, "uint8": 255.5}
_NARROW_LEVELS = {"int8": 127.0, "uint8": 255.0}


def scalar(value: Any) -> Array:
    """Return a number as a float32 array without dimensions."""
    return np.asarray(value, dtype=np.float32)


INT32_LEVELS = scalar(2**31)
"""MXNet's float(0x7fffffff), which rounds up; also the steps per unit if a range is zero."""


def levels(dtype: str) -> Array:
    """Return the quantized number of a range's end: 127.5 or 255.5 (kInt8Range, kUint8Range)."""
    return scalar(_LEVELS[dtype])


def narrow_levels(dtype: str) -> Array:
    """Return 127 or 255, which some of MXNet's operators take instead."""
    return scalar(_NARROW_LEVELS[dtype])


def multiply(a: Value, b: Value) -> Value:
    """Return the product, rounded to float32."""
    return _apply(np.multiply, R.multiply, a, b)


def divide(a: Value, b: Value) -> Value:
    """Return the quotient, rounded to float32."""
    return _apply(np.divide, R.divide, a, b)


def add(a: Value, b: Value) -> Value:
    """Return the sum, rounded to float32."""
    return _apply(np.add, R.add, a, b)


def maximum(a: Value, b: Value) -> Value:
    """Return the larger number."""
    return _apply(np.maximum, R.maximum, a, b)


def minimum(a: Value, b: Value) -> Value:
    """Return the smaller number."""
    return _apply(np.minimum, R.minimum, a, b)


def negative(a: Value) -> Value:
    """Return the number with the other sign."""
    return _apply(np.negative, R.negative, a)


def magnitude(low: Value, high: Value) -> Value:
    """Return the larger distance of a range's ends from zero (MaxAbs)."""
    return maximum(_apply(np.abs, R.abs, low), _apply(np.abs, R.abs, high))


def steps_per_unit(dtype: str, low: Value, high: Value) -> Value:
    """Compute the steps per unit of an 8-bit tensor (GetQuantizeScale)."""
    largest = magnitude(low, high)
    if isinstance(largest, np.ndarray):
        return divide(levels(dtype), largest) if largest else INT32_LEVELS
    is_zero = R.equal(largest, relax.const(0.0, "float32"))
    most = to_expr(INT32_LEVELS)
    return R.where(is_zero, most, divide(levels(dtype), largest))


def to_expr(value: Value) -> relax.Expr:
    """Return a value as an expression; a known value becomes a constant."""
    return relax.const(value, str(value.dtype)) if isinstance(value, np.ndarray) else value


def _apply(known: Any, computed: Callable[..., relax.Expr], *values: Value) -> Value:
    if all(isinstance(value, np.ndarray) for value in values):
        with np.errstate(all="ignore"):
            return np.asarray(known(*values))
    return computed(*(to_expr(value) for value in values))
