"""What takes shapes and small tables apart, and puts them together."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from frontends.tflite.axes import (
    SEGMENT_REDUCTIONS,
    axis_of,
    sliced_axes,
    sliced_ranges,
    split_sizes,
)
from frontends.tflite.folding.node import MOST, Array, Node, Rule
from frontends.tflite.options.moves import (
    ConcatenationOptions,
    GatherOptions,
    PackOptions,
    SplitOptions,
    SqueezeOptions,
    StridedSliceOptions,
    UnpackOptions,
)


def _pack(node: Node) -> Array:
    axis = axis_of(node.options(PackOptions).axis, node.operands[0].ndim + 1)
    return np.stack(node.operands, axis)


def _concatenation(node: Node) -> Array | None:
    if node.is_active or len({each.dtype for each in node.operands}) > 1:
        return None
    axis = axis_of(node.options(ConcatenationOptions).axis, node.operands[0].ndim)
    return np.concatenate(node.operands, axis)


def _strided_slice(node: Node) -> Array | None:
    data, *bounds = node.operands
    options = node.options(StridedSliceOptions)
    begins, ends, steps = (tuple(int(each) for each in bound.ravel()) for bound in bounds)
    if not len(begins) == len(ends) == len(steps):
        return None
    axes = sliced_axes(data.shape, begins, ends, steps, options)
    for axis, each in enumerate(each for each in axes if not each.is_new):
        data = np.take(data, np.array(each.indices, np.intp), axis)
    return data.reshape([len(each.indices) for each in axes if not each.is_dropped])


def _slice(node: Node) -> Array:
    data, begins, sizes = node.operands
    ranges = sliced_ranges(data.shape, begins.ravel().tolist(), sizes.ravel().tolist())
    return data[tuple(slice(each.start, each.stop) for each in ranges)]


def _split(node: Node) -> list[Array]:
    axis, data = node.operands
    return np.split(data, node.options(SplitOptions).num_splits, axis_of(axis.item(), data.ndim))


def _split_v(node: Node) -> list[Array]:
    data, sizes, index = node.operands
    axis = axis_of(index.item(), data.ndim)
    parts = split_sizes(sizes.ravel().tolist(), data.shape[axis], axis)
    return np.split(data, np.cumsum(parts[:-1], dtype=np.intp), axis)


def _unpack(node: Node) -> list[Array]:
    (data,) = node.operands
    axis = axis_of(node.options(UnpackOptions).axis, data.ndim)
    return [np.asarray(part) for part in np.moveaxis(data, axis, 0)]


def _transpose(node: Node) -> Array:
    data, axes = node.operands
    return data.transpose([axis_of(int(axis), data.ndim) for axis in axes.ravel()])


def _reverse(node: Node) -> Array:
    data, axes = node.operands
    return np.flip(data, tuple(axis_of(int(axis), data.ndim) for axis in axes.ravel()))


def _tile(node: Node) -> Array | None:
    data, counts = node.operands[0], node.sizes(1)
    is_small = len(counts) == data.ndim and data.size * prod(counts) <= MOST
    return np.tile(data, counts) if is_small else None


def _at(indices: Array, sizes: Sequence[int]) -> tuple[Array, ...] | None:
    """Return indices, whose last axis tells one, axis by axis; None if one is outside."""
    if not indices.size or (indices < 0).any() or (indices >= np.array(sizes)).any():
        return None
    return tuple(np.moveaxis(indices, -1, 0))


def _gather_nd(node: Node) -> Array | None:
    data, indices = node.operands
    depth = indices.shape[-1] if indices.ndim else 0
    at = _at(indices, data.shape[:depth]) if 0 < depth <= data.ndim else None
    small = prod(indices.shape[:-1]) * prod(data.shape[depth:]) <= MOST
    return data[at] if at is not None and small else None


def _scatter_nd(node: Node) -> Array | None:
    indices, parts, shape = node.operands[0], node.operands[1], node.sizes(2)
    depth = indices.shape[-1] if indices.ndim else 0
    at = _at(indices, shape[:depth]) if 0 < depth <= len(shape) else None
    if at is None or prod(shape) > MOST or parts.dtype.kind != "i":
        return None
    result = np.zeros(shape, parts.dtype)
    np.add.at(result, at, parts)
    return result


def _sparse_to_dense(node: Node) -> Array | None:
    indices, _, values, filler = node.operands
    shape = node.sizes(1)
    at = _at(indices.reshape(-1, len(shape)), shape)
    if at is None or prod(shape) > MOST or filler.size != 1 or filler.dtype != values.dtype:
        return None
    result = np.full(shape, filler.item(), filler.dtype)
    result[at] = values
    return result


def _segments(node: Node) -> Array | None:
    """Reduce the rows of each segment; a row of a negative one is left out."""
    data, indices = node.operands[:2]
    name, begin = SEGMENT_REDUCTIONS[node.operator.code]
    (count,) = node.sizes(2)
    rest = data.shape[indices.ndim :]
    if data.dtype != np.int32 or (indices >= count).any() or count * prod(rest) > MOST:
        return None
    result = np.full((count, *rest), begin(np.iinfo(np.int32)), np.int32)
    numbers, rows = indices.ravel(), data.reshape(indices.size, *rest)
    getattr(np, name).at(result, numbers[numbers >= 0], rows[numbers >= 0])
    return result


def _gather(node: Node) -> Array | None:
    data, indices = node.operands
    options = node.options(GatherOptions)
    axis = axis_of(options.axis, data.ndim)
    if options.batch_dims or indices.dtype.kind != "i" or not data.size or not indices.size:
        return None
    if indices.min() < 0 or indices.max() >= data.shape[axis]:
        return None
    return np.take(data, indices, axis)


def _fill(node: Node) -> Array | None:
    shape, value = node.sizes(0), node.operands[1]
    return np.full(shape, value) if prod(shape) <= MOST and value.shape == () else None


def _broadcast_to(node: Node) -> Array | None:
    shape = node.sizes(1)
    return np.broadcast_to(node.operands[0], shape).copy() if prod(shape) <= MOST else None


def _reshape(node: Node) -> Array | None:
    if len(node.operands) != 2 or node.operands[1].ndim != 1:
        return None
    shape = [int(size) for size in node.operands[1]]
    return node.operands[0].reshape(shape) if 0 not in shape else None


def _squeeze(node: Node) -> Array:
    (data,) = node.operands
    axes = tuple(axis_of(dim, data.ndim) for dim in node.options(SqueezeOptions).dims)
    return data.squeeze(axes or None)


def _expand_dims(node: Node) -> Array:
    data, axis = node.operands
    return np.expand_dims(data, axis_of(int(axis.item()), data.ndim + 1))


RULES: dict[str, Rule] = {
    **dict.fromkeys(SEGMENT_REDUCTIONS, _segments),
    "BROADCAST_TO": _broadcast_to,
    "CONCATENATION": _concatenation,
    "EXPAND_DIMS": _expand_dims,
    "FILL": _fill,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "PACK": _pack,
    "RESHAPE": _reshape,
    "REVERSE_V2": _reverse,
    "SCATTER_ND": _scatter_nd,
    "SLICE": _slice,
    "SPARSE_TO_DENSE": _sparse_to_dense,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided_slice,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
}
