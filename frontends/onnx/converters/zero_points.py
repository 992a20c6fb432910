"""Zero points of operators that give int32 sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from qnn_ops.registry import constant_of, spec_of

Array = np.ndarray[Any, Any]


def data_point(operand: relax.Expr | None) -> tuple[int, relax.Expr | None]:
    """Return the zero point of data: a number, or 0 and an int32 scalar that the run tells.

    Raises:
        UnsupportedError: there are several.
    """
    if operand is None:
        return 0, None
    if int(np.prod(spec_of(operand).shape)) != 1:
        raise UnsupportedError("the first operand has several zero points")
    value = constant_of(operand)
    if value is not None:
        return int(value.item()), None
    return 0, R.astype(R.reshape(operand, ()), "int32")


def weight_points(operand: relax.Expr | None) -> Array | None:
    """Return the zero points of weights: one, or one for each channel; None if the run tells."""
    if operand is None:
        return np.zeros(1, np.int64)
    value = constant_of(operand)
    if value is None:
        return None
    points = value.astype(np.int64).reshape(-1)
    return points[:1] if np.all(points == points[0]) else points
