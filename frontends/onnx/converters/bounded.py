"""NonZero, Compress, Unique and NonMaxSuppression: results of the largest size, and a count."""

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, converter, formula
from qnn_ops import suppress_by_class
from qnn_ops.dialect.expressions import operand
from qnn_ops.dialect.registry import constant_of, spec_of
from qnn_ops.unquantized.comparisons import unequal
from qnn_ops.unquantized.suppression import ROW

_MOST = 1 << 24


@formula("NonZero")
def _non_zero(call: Call, data: Any) -> relax.Expr:
    """Return the indices of nonzero elements along each axis, then zeros; and their count."""
    shape, flags = data.shape, data
    if not shape:
        raise UnsupportedError("its data must have an axis")
    if data.dtype != bool:
        flags = data.to(unequal(data.expr, operand(0, data.dtype)))
    indices, count = _indices(flags.reshape(prod(shape)))
    rows = []
    for axis, size in enumerate(shape):
        outer = indices // prod(shape[axis + 1 :])
        rows.append((outer % size if axis else outer).expr)
    return relax.Tuple([call.emit(R.stack(rows, 0)), count.expr])


@converter("Compress")
def _compress(call: Call, data: relax.Expr, condition: relax.Expr) -> relax.Expr:
    """Return the elements whose condition is true, along an axis or of the flattened data."""
    axis = call.attributes.get("axis")
    if axis is None:
        data, axis = call.emit(R.reshape(data, (prod(spec_of(data).shape),))), 0
    size, (length, *others) = spec_of(data).shape[axis], spec_of(condition).shape
    if others or length > size:
        raise UnsupportedError(f"{length} truth values for {size} elements")
    known = constant_of(condition)
    if known is not None:
        return R.take(data, relax.const(np.flatnonzero(known), "int64"), axis, mode="clip")
    indices, count = _indices(call.array(condition))
    return relax.Tuple([call.emit(R.take(data, indices.expr, axis, mode="clip")), count.expr])


@converter("Unique")
def _unique(_: Call) -> relax.Expr:
    """Raise: constant folding has computed every result that follows from constants."""
    raise UnsupportedError("its values must follow from constants")


def _indices(flags: Any) -> tuple[Any, Any]:
    """Return the indices of true flags, then zeros; and the number of true flags."""
    (size,) = flags.shape
    if not 0 < size <= _MOST:
        raise UnsupportedError(f"of {size:,} elements")
    numbers = flags.astype(np.int64)
    after = flags.to(R.cumsum(numbers.expr, 0))
    # Elements that are not true go behind the end, which is cut off.
    targets: Any = np.where(flags, after - 1, np.int64(size))
    zeros, values = (operand(each, np.int64) for each in (np.zeros(size + 1), np.arange(size)))
    placed = flags.to(R.scatter_elements(zeros, targets.expr, values, axis=0))
    count = numbers.sum([0], np.int64, True)
    return placed[:size], count


@converter("NonMaxSuppression")
def _non_max_suppression(
    call: Call, boxes: Any, scores: Any, count: Any, overlap: Any, least: Any
) -> relax.Expr:
    """Return image, class and box of each box that overlaps no better one; then rows of zeros."""
    emit, shape = call.emit, spec_of(scores).shape
    known, limit = constant_of(count), constant_of(overlap)
    if limit is not None and not 0 <= limit.item() <= 1:
        raise UnsupportedError(f"iou_threshold must be from 0 to 1, got {limit.item()}")
    most = shape[-1] if known is None and count is not None else 0
    if known is not None:
        most = min(max(int(known.item()), 0), shape[-1])
    if ROW * prod(shape[:-1]) * most > _MOST:
        raise UnsupportedError(f"room for {most:,} boxes of each class of {prod(shape[:-1]):,}")
    parts = [
        relax.const(np.zeros(1, np.float32)) if each is None else emit(R.reshape(each, (1,)))
        for each in (overlap, least)
    ]
    asked = relax.const(np.zeros(1, np.int64), "int64") if count is None else count
    rows = suppress_by_class(
        boxes,
        scores,
        emit(R.reshape(asked, (1,))),
        emit(R.concat(parts, 0)),
        most=most,
        has_centers=bool(call.integer("center_point_box")),
        takes_all=least is None,
    )
    found = call.array(rows)
    return relax.Tuple([found[1:].expr, found[:1, :1].reshape(1).expr])
