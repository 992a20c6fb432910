"""Scaling of integers as Relax expressions."""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import Expr
from tvm.relax import op as R


def saturate(value: Expr, bounds: tuple[int, int], dtype: str) -> Expr:
    """Clamp an int64 expression to ``bounds`` and cast it."""
    low, high = (const(bound, "int64") for bound in bounds)
    return R.astype(R.minimum(R.maximum(value, low), high), dtype)


def const(value: Any, dtype: str) -> Expr:
    """Return a constant of ``dtype``; scalars stay 0-dimensional."""
    return relax.const(np.asarray(value, dtype=dtype), dtype)
