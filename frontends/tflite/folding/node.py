"""An operator whose operands are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from frontends.tflite.model import Operator, Tensor
from qnn_ops.errors import QnnError

Array = np.ndarray[Any, Any]

MOST = 1 << 12
"""The most elements of shapes and of small tables made from them; larger tensors are data."""

DTYPES = ("int32", "int64", "bool", "float32")


@dataclass(frozen=True)
class Node:
    """The operator, its first result, its operands and their dtypes.

    An operand with an open size is an array of objects: numbers, and ``Size`` objects in TVM's
    arithmetic.
    """

    operator: Operator
    result: Tensor
    operands: tuple[Array, ...]
    dtypes: tuple[str, ...]

    def options(self, kind: type[Any]) -> Any:
        """Return the operator's options."""
        if not isinstance(self.operator.options, kind):
            raise QnnError(f"has no {kind.__name__}")
        return self.operator.options

    @property
    def is_active(self) -> bool:
        """Whether an activation is fused into it."""
        return getattr(self.operator.options, "activation", "NONE") != "NONE"

    def sizes(self, position: int) -> tuple[int, ...]:
        """Return the sizes that an operand holds."""
        sizes = tuple(self.operands[position].ravel().tolist())
        if any(size < 0 for size in sizes):
            raise QnnError(f"sizes must not be negative, got {sizes}")
        return sizes

    @property
    def is_small(self) -> bool:
        """Whether the operands, broadcast to one shape, have at most the size of a table."""
        return prod(broadcast([each.shape for each in self.operands])) <= MOST


def is_open(*arrays: Array) -> bool:
    """Tell whether an array has open sizes."""
    return any(array.dtype == object for array in arrays)


def closed(array: Array, dtype: str) -> Array:
    """Return an array of objects as numbers, if all of them are."""
    is_closed = array.dtype == object and all(isinstance(each, int) for each in array.ravel())
    return array.astype(dtype) if is_closed else array


Known = Callable[[Node], "Array | list[Array] | None"]
"""Returns the result, or a list of them; None leaves the operator to its converter."""


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Broadcast shapes as numpy does, without making an array."""
    rank = max(map(len, shapes))
    rows = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*rows, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            raise QnnError(f"shapes {shapes} cannot be broadcast")
        result.append(others.pop() if others else 1)
    return tuple(result)
