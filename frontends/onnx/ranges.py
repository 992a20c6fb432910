"""The numbers of a Range, as ONNX Runtime adds them up."""

from __future__ import annotations

from typing import Any

import numpy as np

from frontends.bounds import check_places
from frontends.errors import UnsupportedError

Array = np.ndarray[Any, Any]


def range_of(start: Array, limit: Array, delta: Array) -> Array:
    """Return the numbers from a start to before a limit, each the one before and a step more.

    Real numbers are rounded after each step, as in ONNX Runtime.

    Args:
        start: one number.
        limit: one number, of the same dtype.
        delta: one number, of the same dtype.

    Raises:
        UnsupportedError: there are several numbers, or no steps, or too many.
    """
    if max(start.size, limit.size, delta.size) != 1 or not delta.item():
        raise UnsupportedError("it needs a start, a limit and a step that is not 0")
    if start.dtype.kind == "f":
        with np.errstate(all="ignore"):
            steps = np.ceil(np.float64((limit - start).item()) / np.float64(delta.item()))
        if not np.isfinite(steps):
            raise UnsupportedError(f"it has {steps} numbers")
    else:
        steps = -((int(start.item()) - int(limit.item())) // int(delta.item()))
    count = max(int(steps), 0)
    check_places(count)
    numbers = np.full(count, delta.item(), start.dtype)
    numbers[:1] = start.item()
    return np.add.accumulate(numbers, dtype=start.dtype, out=numbers)
