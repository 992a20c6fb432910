"""The rules that compute shapes and small tables when a model is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from frontends.ranges import count_of
from frontends.tflite.axes import sliced_axes, sliced_ranges, split_sizes
from frontends.tflite.folding.node import (
    DTYPES,
    MOST,
    Array,
    Known,
    Node,
    broadcast,
    closed,
    is_open,
)
from frontends.tflite.model import Operator
from frontends.tflite.operators import OPERATORS, UNKNOWN_SHAPE, Row
from frontends.tflite.options.moves import (
    ConcatenationOptions,
    GatherOptions,
    PackOptions,
    ShapeOptions,
    SplitOptions,
    SqueezeOptions,
    StridedSliceOptions,
    UnpackOptions,
)
from frontends.tflite.options.values import CumsumOptions, ReducerOptions
from qnn_ops.dialect.checks import check_axis
from qnn_ops.errors import QnnError

_WHOLE = [("int32", "int32"), ("int64", "int64")]


def elementwise(function: Callable[[Array, Array], Any]) -> Known:
    """Return the rule that applies numpy's function to two operands of one type."""

    def rule(node: Node) -> Array | None:
        lhs, rhs = node.operands
        is_alike = node.dtypes[0] == node.dtypes[1] != "bool"
        if node.is_active or not is_alike or not node.is_small:
            return None
        return np.asarray(function(lhs, rhs))

    return rule


def floored(function: Callable[[Array, Array], Any]) -> Known:
    """Return the rule for whole quotients or remainders; a divisor of 0 is left to the run."""

    def rule(node: Node) -> Array | None:
        lhs, rhs = node.operands
        if node.dtypes not in _WHOLE or (rhs == 0).any():
            return None
        return np.asarray(function(lhs, rhs)) if node.is_small else None

    return rule


def of_one(function: Callable[[Array], Any], kinds: str) -> Known:
    """Return the rule that applies numpy's function to one operand of these kinds of types."""

    def rule(node: Node) -> Array | None:
        (data,) = node.operands
        return np.asarray(function(data)) if np.dtype(node.dtypes[0]).kind in kinds else None

    return rule


def quotient(node: Node) -> Array | list[Array] | None:
    """Divide; integers round towards zero."""
    lhs, rhs = node.operands
    if lhs.dtype == np.float32:
        return elementwise(np.divide)(node)
    if (rhs == 0).any() or node.dtypes[0] != "int32":
        return None
    if is_open(lhs, rhs):  # none of them is negative, or their order is not known
        return np.asarray(lhs // rhs) if (lhs >= 0).all() and (rhs > 0).all() else None
    return elementwise(lambda lhs, rhs: (lhs - np.fmod(lhs, rhs)) // rhs)(node)


def zeros_like(node: Node) -> Array:
    """Return zeros."""
    return np.zeros_like(node.operands[0])


def compared(function: Callable[[Array, Array], Any]) -> Known:
    """Return the rule that compares two operands of one type."""

    def rule(node: Node) -> Array | None:
        lhs, rhs = node.operands
        if len({*node.dtypes}) > 1 or not node.is_small:
            return None
        if is_open(lhs, rhs):  # their sizes may be equal in some runs
            return np.asarray(function((lhs >= rhs).astype(int), (lhs <= rhs).astype(int)))
        return np.asarray(function(lhs, rhs))

    return rule


def select(node: Node) -> Array | None:
    """Choose elements of two operands by a third."""
    condition, chosen, other = node.operands
    is_plain = node.operator.code == "SELECT_V2" or len({each.shape for each in node.operands}) == 1
    is_alike = node.dtypes[0] == "bool" and node.dtypes[1] == node.dtypes[2]
    if not is_alike or not is_plain or not node.is_small:
        return None
    result = np.where(condition, chosen, other)
    # LiteRT gives a result of single elements the shape in the file.
    is_single = result.size == prod(node.result.shape) == 1
    return result.reshape(node.result.shape) if is_single else result


def cumsum(node: Node) -> Array | None:
    """Add up integers along an axis."""
    data, place = node.operands
    options, axis = node.options(CumsumOptions), check_axis(place.item(), data.ndim)
    if data.dtype.kind != "i":
        return None
    ordered = np.flip(data, axis) if options.reverse else data
    sums = np.cumsum(ordered, axis, data.dtype) - (ordered if options.exclusive else 0)
    return np.asarray(np.flip(sums, axis) if options.reverse else sums)


def reduced(function: np.ufunc, kind: str = "i") -> Known:
    """Return the rule that reduces one kind of types along axes."""

    def rule(node: Node) -> Array | None:
        data, axes = node.operands
        if np.dtype(node.dtypes[0]).kind != kind or not data.ndim or not data.size:
            return None
        along = tuple({check_axis(int(axis), data.ndim) for axis in axes.ravel()})
        keep = node.options(ReducerOptions).keep_dims
        return np.asarray(function.reduce(data, along, data.dtype, keepdims=keep))

    return rule


def cast(node: Node) -> Array | None:
    """Convert numbers; floats saturate."""
    (data,) = node.operands
    dtype = node.result.dtype
    if is_open(data):
        return data if dtype in ("int32", "int64") else None
    if dtype not in DTYPES or data.dtype != np.float32 or dtype in ("bool", "float32"):
        return data.astype(dtype) if dtype in DTYPES else None
    info = np.iinfo(dtype)
    # float64 holds every float32, and int64's ends as powers of two.
    wide = data.astype(np.float64)
    inside = np.where(np.abs(wide) < float(info.max), wide, 0.0).astype(dtype)
    ends = np.where(wide <= float(info.min), info.min, info.max).astype(dtype)
    return np.where(np.abs(wide) < float(info.max), inside, ends)


def counted(node: Node) -> Array | None:
    """Source: GetSize and CalculateRange of TFLite's kernels/range.cc."""
    if len({each.dtype for each in node.operands}) > 1 or node.operands[0].dtype == bool:
        return None
    start, limit, step = (each.item() for each in node.operands)
    if not np.isfinite([start, limit, step]).all():
        return None
    if step == 0 or (limit - start) * step < 0:
        raise QnnError(f"no numbers lead from {start} to {limit} by steps of {step}")
    dtype = node.operands[0].dtype
    if dtype == np.float32:
        count = ceil(abs(np.float32(limit - start) / np.float32(step)))
    else:
        count = (abs(limit - start) + abs(step) - 1) // abs(step)
    if count > MOST:
        return None
    # Each number is the previous one plus a step, rounded each time.
    steps = np.array([start, *[step] * (count - 1)][:count], dtype)
    return np.add.accumulate(steps, dtype=dtype)


def _broadcast_args(node: Node) -> Array:
    """Broadcast two shapes."""
    shapes = [node.sizes(position) for position in range(2)]
    return np.array(broadcast(shapes), node.operands[0].dtype)


def _where(node: Node) -> Array | None:
    """List the indices of elements other than 0."""
    (data,) = node.operands
    return np.argwhere(data).astype(np.int64) if data.ndim else None


def pack(node: Node) -> Array:
    """Join operands along a new axis."""
    axis = check_axis(node.options(PackOptions).axis, node.operands[0].ndim + 1)
    return np.stack(node.operands, axis)


def concatenation(node: Node) -> Array | None:
    """Join operands of one type along an axis."""
    if node.is_active or len({*node.dtypes}) > 1:
        return None
    axis = check_axis(node.options(ConcatenationOptions).axis, node.operands[0].ndim)
    return np.concatenate(node.operands, axis)


def strided_slice(node: Node) -> Array | None:
    """Return a part by begins, ends, strides and masks."""
    data, *bounds = node.operands
    options = node.options(StridedSliceOptions)
    begins, ends, steps = (tuple(int(each) for each in bound.ravel()) for bound in bounds)
    if not len(begins) == len(ends) == len(steps):
        return None
    axes = sliced_axes(data.shape, begins, ends, steps, options)
    for axis, each in enumerate(each for each in axes if not each.is_new):
        part = each.indices
        data = np.take(data, np.arange(part.start, part.stop, part.step), axis)
    return data.reshape([count_of(each.indices) for each in axes if not each.is_dropped])


def sliced(node: Node) -> Array:
    """Return a part by begins and sizes."""
    data, begins, sizes = node.operands
    ranges = sliced_ranges(data.shape, begins.ravel().tolist(), sizes.ravel().tolist())
    return data[tuple(slice(each.start, each.stop) for each in ranges)]


def equal_parts(node: Node) -> list[Array]:
    """Split into equal parts."""
    axis, data = node.operands
    return np.split(data, node.options(SplitOptions).num_splits, check_axis(axis.item(), data.ndim))


def split_v(node: Node) -> list[Array]:
    """Split into parts of given sizes."""
    data, sizes, index = node.operands
    axis = check_axis(index.item(), data.ndim)
    parts = split_sizes(sizes.ravel().tolist(), data.shape[axis], axis)
    return np.split(data, np.cumsum(parts[:-1], dtype=np.intp), axis)


def unpack(node: Node) -> list[Array]:
    """Split into parts without the axis."""
    (data,) = node.operands
    axis = check_axis(node.options(UnpackOptions).axis, data.ndim)
    return [np.asarray(part) for part in np.moveaxis(data, axis, 0)]


def transpose(node: Node) -> Array:
    """Permute the axes."""
    data, axes = node.operands
    return data.transpose([check_axis(int(axis), data.ndim) for axis in axes.ravel()])


def reverse(node: Node) -> Array:
    """Reverse the order along axes."""
    data, axes = node.operands
    return np.flip(data, tuple(check_axis(int(axis), data.ndim) for axis in axes.ravel()))


def tile(node: Node) -> Array | None:
    """Repeat the data along each axis."""
    data, counts = node.operands[0], node.sizes(1)
    is_small = len(counts) == data.ndim and data.size * prod(counts) <= MOST
    return np.tile(data, counts) if is_small else None


def _at(indices: Array, sizes: Sequence[int]) -> tuple[Array, ...] | None:
    """Return indices axis by axis; their last axis holds one index. None if one is outside."""
    if not indices.size or (indices < 0).any() or (indices >= np.array(sizes)).any():
        return None
    return tuple(np.moveaxis(indices, -1, 0))


def gather_nd(node: Node) -> Array | None:
    """Return parts at indices along several axes."""
    data, indices = node.operands
    depth = indices.shape[-1] if indices.ndim else 0
    at = _at(indices, data.shape[:depth]) if 0 < depth <= data.ndim else None
    small = prod(indices.shape[:-1]) * prod(data.shape[depth:]) <= MOST
    return data[at] if at is not None and small else None


def scatter_nd(node: Node) -> Array | None:
    """Add integers to zeros at indices."""
    indices, parts, shape = node.operands[0], node.operands[1], node.sizes(2)
    depth = indices.shape[-1] if indices.ndim else 0
    at = _at(indices, shape[:depth]) if 0 < depth <= len(shape) else None
    if at is None or prod(shape) > MOST or parts.dtype.kind != "i":
        return None
    result = np.zeros(shape, parts.dtype)
    np.add.at(result, at, parts)
    return result


def sparse_to_dense(node: Node) -> Array | None:
    """Put values at indices in a filled tensor."""
    indices, _, values, filler = node.operands
    shape = node.sizes(1)
    at = _at(indices.reshape(-1, len(shape)), shape)
    if at is None or prod(shape) > MOST or filler.size != 1 or filler.dtype != values.dtype:
        return None
    result = np.full(shape, filler.item(), filler.dtype)
    result[at] = values
    return result


def segments(name: str, begin: Callable[[Any], Any], node: Node) -> Array | None:
    """Reduce the rows of each segment; rows of negative segments are left out."""
    data, indices = node.operands[:2]
    (count,) = node.sizes(2)
    rest = data.shape[indices.ndim :]
    if node.dtypes[0] != "int32" or (indices >= count).any() or count * prod(rest) > MOST:
        return None
    result = np.full((count, *rest), begin(np.iinfo(np.int32)), data.dtype)
    numbers, rows = indices.ravel(), data.reshape(indices.size, *rest)
    getattr(np, name).at(result, numbers[numbers >= 0], rows[numbers >= 0])
    return result


def gather(node: Node) -> Array | None:
    """Return elements at indices along an axis."""
    data, indices = node.operands
    options = node.options(GatherOptions)
    axis = check_axis(options.axis, data.ndim)
    if options.batch_dims or indices.dtype.kind != "i" or not data.size or not indices.size:
        return None
    if indices.min() < 0 or indices.max() >= data.shape[axis]:
        return None
    return np.take(data, indices, axis)


def fill(node: Node) -> Array | None:
    """Repeat one value."""
    shape, value = node.sizes(0), node.operands[1]
    return np.full(shape, value) if prod(shape) <= MOST and value.shape == () else None


def broadcast_to(node: Node) -> Array | None:
    """Repeat the data along axes of size 1."""
    shape = node.sizes(1)
    return np.broadcast_to(node.operands[0], shape).copy() if prod(shape) <= MOST else None


def reshape(node: Node) -> Array | None:
    """Give the data the shape that the second operand states."""
    if len(node.operands) != 2 or node.operands[1].ndim != 1:
        return None
    shape = [int(size) for size in node.operands[1]]
    return node.operands[0].reshape(shape) if 0 not in shape else None


def squeeze(node: Node) -> Array:
    """Drop axes of size 1."""
    (data,) = node.operands
    axes = tuple(check_axis(dim, data.ndim) for dim in node.options(SqueezeOptions).dims)
    return data.squeeze(axes or None)


def expand_dims(node: Node) -> Array:
    """Insert an axis of size 1."""
    data, axis = node.operands
    return np.expand_dims(data, check_axis(int(axis.item()), data.ndim + 1))


def _shape(operator: Operator, shape: Sequence[int]) -> Array | None:
    if not isinstance(operator.options, ShapeOptions):
        return None
    return closed(np.array(shape, object), operator.options.out_type)


OPERATORS.update(
    {
        "BROADCAST_ARGS": Row(known=_broadcast_args),
        "DENSIFY": Row(is_dense=True),
        "RANK": Row(of_shape=lambda _, shape: np.array(len(shape), np.int32)),
        "SHAPE": Row(of_shape=_shape),
        "WHERE": Row(known=_where, refusal=UNKNOWN_SHAPE),
    }
)
