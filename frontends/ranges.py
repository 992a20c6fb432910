"""Indices along an axis, splits, shapes of the same elements, and tensors of open sizes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx
from tvm.relax import op as R

from qnn_ops.dialect.registry import spec_of
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


_WIDER = {
    "bool": "int8",
    "int8": "int16",
    "uint8": "int16",
    "int16": "int32",
    "int32": "int64",
    "float32": "float64",
}


def index_of(
    function: Callable[..., relax.Expr], data: relax.Expr, axis: int | None, keepdims: bool = False
) -> relax.Expr:
    """Return Relax's argmax or argmin, right for every value.

    TVM starts from index -1 with the worst value of the dtype. This value wins if no element is
    better: -1 was the answer for a row of 255 alone. A wider dtype has a worse value. Only an
    infinity is worse still, and then no element of the row is better than the first.

    Args:
        function: ``relax.op.argmax`` or ``relax.op.argmin``.
        data: a tensor whose type is known.
        axis: the axis; None for all elements.
        keepdims: whether the axis stays, with size 1.

    Returns:
        int64.
    """
    dtype = spec_of(data).dtype
    wide = R.astype(data, _WIDER[dtype]) if dtype in _WIDER else data
    return R.maximum(function(wide, axis, keepdims), relax.const(0, "int64"))


_MOST = 64
"""The most parts of one split: TVM's time grows with their square, and each takes stack."""


def split(
    builder: relax.BlockBuilder, data: relax.Expr, sizes: Sequence[int], axis: int
) -> list[relax.Expr]:
    """Split a tensor along an axis, in several steps if there are many parts.

    Args:
        builder: of the module.
        data: the tensor.
        sizes: of the parts; their sum is the tensor's size along the axis.
        axis: not negative.

    Returns:
        The parts, each of the tensor's dtype.
    """
    if len(sizes) == 1:
        return [data]
    step = 1
    while step * _MOST < len(sizes):
        step *= _MOST
    groups = [sizes[first : first + step] for first in range(0, len(sizes), step)]
    ends = list(accumulate(map(sum, groups)))
    parts = builder.emit(R.split(data, ends[:-1], axis))
    items = [relax.TupleGetItem(parts, index) for index in range(len(groups))]
    if step == 1:
        return items
    return [
        part
        for group, item in zip(groups, items, strict=True)
        for part in split(builder, builder.emit(item), group, axis)
    ]
