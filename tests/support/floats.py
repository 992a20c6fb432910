"""How far float32 results lie apart."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def ulps(first: Array, second: Array) -> Array:
    """Count the float32 numbers from one result to the other; NaN is 0 from NaN."""
    places = []
    for array in (first, second):
        bits = np.ascontiguousarray(array, np.float32).view(np.int32).astype(np.int64)
        places.append(np.where(bits < 0, -(bits & 0x7FFFFFFF), bits))
    both_nan = np.isnan(first) & np.isnan(second)
    return np.where(both_nan, 0, np.abs(places[0] - places[1]))
