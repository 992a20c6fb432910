"""Ranges and scales: in numpy if they are known, otherwise in the model's function.

MXNet computes ranges in float32, and rounds each operation. numpy does the same with float32
arrays, and so does Relax. So one formula serves all models: import computes it for calibrated
models, and an ``Expression`` makes it part of the function of other models.
"""

from typing import Any, TypeAlias

import numpy as np
from tvm import relax

from qnn_ops.dialect.expressions import Expression

Array = np.ndarray[Any, Any]

Value: TypeAlias = "relax.Expr | Expression | Array"
"""A tensor: an array if it is known when the model is imported, such as a parameter of the file."""

Number: TypeAlias = Any
"""Ranges and scales: float32 of numpy, or an ``Expression`` if a run computes them."""


_LEVELS = {"int8": 127.5, "uint8": 255.5}
_NARROW_LEVELS = {"int8": 127.0, "uint8": 255.0}


def scalar(value: Any) -> Array:
    """Return a number as a float32 array without dimensions."""
    return np.asarray(value, dtype=np.float32)


def const(value: Any) -> relax.Expr:
    """Return a number as a float32 constant."""
    return relax.const(scalar(value))


INT32_LEVELS = scalar(2**31)
"""MXNet's float(0x7fffffff), which rounds up; also the steps per unit if a range is zero."""


def levels(dtype: str) -> Array:
    """Return the quantized number of a range's end: 127.5 or 255.5 (kInt8Range, kUint8Range)."""
    return scalar(_LEVELS[dtype])


def narrow_levels(dtype: str) -> Array:
    """Return 127 or 255, which some of MXNet's operators take instead."""
    return scalar(_NARROW_LEVELS[dtype])


def is_known(number: Number) -> bool:
    """Tell whether a number is known when the model is imported."""
    return not isinstance(number, Expression)


def steps_per_unit(dtype: str, low: Number, high: Number) -> Number:
    """Compute the steps per unit of 8-bit tensors (GetQuantizeScale)."""
    largest = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(largest == 0, INT32_LEVELS, levels(dtype) / largest)


def to_expr(value: Value) -> relax.Expr:
    """Return a value as an expression; a known value becomes a constant."""
    if isinstance(value, Expression):
        return value.expr
    return value if isinstance(value, relax.Expr) else relax.const(value, str(value.dtype))
