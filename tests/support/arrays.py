from __future__ import annotations

from typing import Any

import numpy as np


def full_range(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
