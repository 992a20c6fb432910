from __future__ import annotations

from typing import Any

import numpy as np


def full_range(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def every_value(dtype: str) -> np.ndarray[Any, Any]:
    """All values of an 8-bit dtype, the lowest first."""
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1).astype(dtype)
