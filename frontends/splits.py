"""Splitting a tensor into parts."""

from collections.abc import Sequence
from itertools import accumulate

from tvm import relax
from tvm.relax import op as R

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
