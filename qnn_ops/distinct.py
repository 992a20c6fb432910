"""One value for equal arrays."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from qnn_ops.arrays import Array

_FIRST = 64  # so many bytes tell most arrays of one shape apart

Value = TypeVar("Value")


class Distinct(Generic[Value]):
    """The values of arrays; those of equal dtype, shape and bytes have one. It holds the arrays."""

    def __init__(self) -> None:
        """Begin without arrays."""
        self._known: dict[Any, list[tuple[Array, Value]]] = {}

    def value(self, array: Array, make: Callable[[], Value]) -> Value:
        """Return the value of an equal array, if there was one; otherwise make a value."""
        data = array.reshape(-1).view(np.uint8)
        key = array.shape, str(array.dtype), data[:_FIRST].tobytes()
        alike = self._known.setdefault(key, [])
        for known, value in alike:
            if np.array_equal(known, data):
                return value
        alike.append((data, value := make()))
        return value
