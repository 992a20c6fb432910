"""Expands MXNet's sparse arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from frontends.mxnet.cursor import Cursor

Array = np.ndarray[Any, Any]


def expand(
    cursor: Cursor,
    offset: int,
    what: str,
    shape: tuple[int, ...],
    values: Array,
    indices: Sequence[Array],
) -> Array:
    """Return the dense array that a sparse one stands for.

    Args:
        cursor: the file, which limits how much arrays may grow.
        offset: where in the file the array stands.
        what: how errors name the array.
        shape: the dense shape.
        values: the stored elements; whole slices along axis 0, or a list of single ones.
        indices: of row_sparse, the numbers of the slices; of csr, where each row begins among
            the values, ended by their count, and the column of each value.

    Returns:
        The array, 0 where nothing is stored.

    Raises:
        MXNetFormatError: values and indices do not describe an array of this shape, or a file of
            this size cannot be meant to hold one.
    """
    problem = _problem(shape, values, indices)
    if problem:
        raise cursor.error(offset, f"{what} is sparse, but {problem}")
    cursor.grow(math.prod(shape) * values.itemsize, offset, what)
    dense = np.zeros(shape, values.dtype)
    if len(indices) == 1:
        dense[indices[0].astype(np.int64)] = values
    else:
        starts, columns = (array.astype(np.int64) for array in indices)
        dense[np.repeat(np.arange(shape[0]), np.diff(starts)), columns] = values
    return dense


def _problem(shape: tuple[int, ...], values: Array, indices: Sequence[Array]) -> str | None:
    """Describe the error of a sparse array, if it has one."""
    if any(array.ndim != 1 or array.dtype.kind not in "iu" for array in indices):
        return "its indices are no lists of integers"
    if any(size < 0 for size in shape):
        return f"of shape {shape}"
    selected = indices[-1]
    stored = (selected.size, *(shape[1:] if len(indices) == 1 else ()))
    if not shape or (len(indices) == 2 and len(shape) != 2) or values.shape != stored:
        return f"of shape {shape}, with values of shape {values.shape} at {selected.size} indices"
    limit = shape[len(indices) - 1]
    if selected.size and not (int(selected.min()) >= 0 and int(selected.max()) < limit):
        return f"its indices are {selected.min()} to {selected.max()}, need 0 to {limit - 1}"
    if len(indices) == 2:
        starts = indices[0]
        ends = [int(start) for start in (*starts[:1], *starts[-1:])]
        if starts.size != shape[0] + 1 or ends != [0, selected.size]:
            return f"the starts of its rows do not divide {selected.size} values"
        if (starts[1:] < starts[:-1]).any():
            return "the starts of its rows do not ascend"
    return None
