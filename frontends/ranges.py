"""Indices along an axis, shapes of the same elements, and tensors of sizes, which may be open."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R

from qnn_ops.dialect.sizes import as_extent


@dataclass(frozen=True)
class OpenRange:
    """A ``range`` whose end may be an open size."""

    start: int
    stop: int
    step: int = 1


def index_range(start: int, stop: int, step: int = 1) -> range | OpenRange:
    """Return indices along an axis."""
    is_known = isinstance(start, int) and isinstance(stop, int)
    return range(start, stop, step) if is_known else OpenRange(start, stop, step)


def count_of(indices: range | OpenRange) -> int:
    """Return the number of indices."""
    if isinstance(indices, range):
        return len(indices)
    start, stop, step = indices.start, indices.stop, indices.step
    span = stop - start if step > 0 else start - stop
    return max(-(-span // abs(step)), 0)


def clamped(index: int, size: int, lowest: int, highest: int) -> int:
    """Return an index counted from the front, bounded by two ends."""
    return min(max(index + size if index < 0 else index, lowest), highest)


def whole_shape(sizes: Sequence[int], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a new shape of a tensor; one -1 means the size that the other sizes leave.

    If both are empty, sizes of 0 are ignored, as LiteRT does.
    """
    if shape.count(-1) != 1:
        return shape
    known = [size for size in shape if size != -1]
    is_empty = 0 in sizes and 0 not in known
    rest = 0 if is_empty else prod(filter(None, sizes)) // prod(filter(None, known))
    return tuple(rest if size == -1 else size for size in shape)


def of_sizes(builder: Any, array: np.ndarray[Any, Any]) -> relax.Expr:
    """Return a tensor of numbers and open sizes, int64; each run computes it.

    Args:
        builder: a ``relax.BlockBuilder`` or a ``ModuleBuilder``.
        array: of numbers and ``Size`` objects.
    """
    sizes = [tirx.convert(as_extent(each)) for each in array.flat]
    shape = relax.ShapeExpr([each.astype("int64") for each in sizes])
    made = builder.emit(R.shape_to_tensor(shape))
    return made if array.ndim == 1 else builder.emit(R.reshape(made, array.shape))
