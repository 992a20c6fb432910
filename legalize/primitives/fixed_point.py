"""Scaling of integers as Relax expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops.arithmetic import rounding as rounding_arithmetic
from qnn_ops.dialect.expressions import emitted

Array = np.ndarray[Any, Any]


def scale_down(
    builder: relax.BlockBuilder,
    accumulator: relax.Expr,
    real_multiplier: Array | float,
    rounding: str,
    zero_point: int,
    bounds: tuple[int, int],
    dtype: str,
) -> relax.Expr:
    """Turn accumulators into quantized values, as qnn_ops.arithmetic.rounding.scale_down does."""
    how = real_multiplier, rounding, zero_point, bounds, dtype
    return emitted(builder, rounding_arithmetic.scale_down, accumulator, *how)


def saturate(value: relax.Expr, bounds: tuple[int, int], dtype: str) -> relax.Expr:
    """Clamp an int64 expression to ``bounds`` and cast it."""
    low, high = (const(bound, "int64") for bound in bounds)
    return R.astype(R.minimum(R.maximum(value, low), high), dtype)


def const(value: Any, dtype: str) -> relax.Constant:
    """Return a constant of ``dtype``; scalars stay 0-dimensional."""
    return relax.const(np.asarray(value, dtype=dtype), dtype)
