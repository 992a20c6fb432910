from collections.abc import Sequence
from typing import Any

import numpy as np


def full_range(
    rng: np.random.Generator, dtype: str, shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def any_of(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Draw integers of the whole range, flags, or numbers around 0."""
    if dtype == "float32":
        return np.asarray(rng.normal(0, 2, shape)).round(1).astype(np.float32)
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    return full_range(rng, dtype, tuple(shape))


def every_value(dtype: str) -> np.ndarray[Any, Any]:
    """All values of an 8-bit dtype, the lowest first."""
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1).astype(dtype)


class Chances:
    """The random choices of a model, from its generator of random numbers."""

    rng: np.random.Generator

    def choice(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)
