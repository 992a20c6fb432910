"""Reductions along axes, whose sums are added in ONNX Runtime's order, and CumProd."""

from collections.abc import Callable
from math import gcd, prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.registry import Call, converter, formula
from qnn_ops.dialect.registry import constant_of, spec_of


def _axes(call: Call) -> list[int]:
    """Return the axes, from an attribute or an operand, counted from the first axis."""
    (data, given), axes = call.operands(2), call.integers("axes")
    rank = len(spec_of(data).shape)
    if given is not None:
        axes = call.constant(1, "its axes").reshape(-1).tolist()
    if any(not -rank <= axis < rank for axis in axes):
        raise UnsupportedError(f"axes {list(axes)} are outside a tensor of {rank} dimensions")
    return sorted({int(axis) % rank for axis in axes})


@formula("ReduceMax", "ReduceMin")
def _extreme(call: Call, data: Any) -> Any:
    """Return extremes along axes; only infinities, as masks make them, reduce to an infinity.

    TVM's reduction begins with the lowest or the highest finite number. ONNX Runtime begins with
    the first element: if this is NaN, the result is NaN. Other NaN are ignored, as in ONNX Runtime,
    except for some at the beginning of its vectors.
    """
    reduction, infinity = (R.max, -np.inf) if call.op == "ReduceMax" else (R.min, np.inf)
    axes = _axes(call)
    if not axes and call.integer("noop_with_empty_axes"):
        return data
    if 0 in data.shape or any(data.shape[axis] < 1 for axis in axes or range(data.ndim)):
        raise UnsupportedError("it has no elements")
    keeps = bool(call.integer("keepdims", 1))

    def reduced(values: Any, function: Callable[..., relax.Expr] = reduction) -> Any:
        return values.to(function(values.expr, axis=axes or None, keepdims=keeps))

    if data.dtype == bool:
        return reduced(data.astype(np.uint8)).astype(bool)
    if data.dtype.kind != "f" or call.is_dequantized(data.expr):
        return reduced(data)
    limit = np.asarray(infinity, data.dtype)
    numbers: Any = np.where(np.isnan(data), limit, data)
    found = reduced(numbers)
    is_other = data.to(R.not_equal(numbers.expr, relax.const(limit))).astype(np.int8)
    found = np.where(reduced(is_other, R.max) > 0, found, limit)
    axes = axes or list(range(data.ndim))
    ends = [1 if axis in axes else size for axis, size in enumerate(data.shape)]
    parts = [0] * len(axes), [1] * len(axes)
    first = data.to(R.strided_slice(data.expr, axes, *parts, assume_inbound=True))
    first = first.reshape(*(ends if keeps else found.shape))
    return np.where(np.isnan(first), first, found)


@formula("ReduceLogSum")
def _log_sum(call: Call, data: Any) -> Any:
    axes, keeps = _axes_of_reals(call, data)
    return np.log(data.sum(axes, data.dtype, keeps))


@formula("ReduceLogSumExp")
def _log_sum_exp(call: Call, data: Any) -> Any:
    """Subtract the largest element before exponentials are added up, unless it is infinite."""
    axes, keeps = _axes_of_reals(call, data)
    most = data.max(axes, keepdims=True)
    base = np.where(np.isfinite(most), most, 0)
    sums = np.exp(data - base).sum(axes, data.dtype, True)
    result = np.log(sums) + base
    return result if keeps else R.squeeze(result.expr, axes)


def _axes_of_reals(call: Call, data: Any) -> tuple[list[int], bool]:
    """Return the axes, and whether they stay, with size 1."""
    if data.dtype.kind != "f":
        raise UnsupportedError(f"its data must be real numbers, got {data.dtype}")
    axes = _axes(call)
    if not axes and call.integer("noop_with_empty_axes"):
        raise UnsupportedError("no axes are all axes: noop_with_empty_axes is not imported")
    return axes or list(range(data.ndim)), bool(call.integer("keepdims", 1))


# The float32 lanes of the vectors that Eigen adds, on every processor.
_LANES = 4


@formula("ReduceMean", dtype="float32")
def _reduce_mean(call: Call, data: Any) -> Any:
    shape = data.shape
    axes = _axes(call)
    if not axes and call.integer("noop_with_empty_axes"):
        return data
    axes = axes or list(range(len(shape)))
    long = [each for each, size in enumerate(shape) if size > 1]
    reduced = [each for each in long if each in axes]
    count = prod(shape[each] for each in axes)
    keeps = bool(call.integer("keepdims", 1))
    if reduced != long[len(long) - len(reduced) :]:
        # A mean here stands for a GlobalAveragePool, whose sums may have another order.
        return data.sum(axes, np.float32, keeps) / count
    mean = _sums(data.reshape(prod(shape) // count, count)) / count
    sizes = [1 if each in axes else size for each, size in enumerate(shape)]
    return mean.reshape(*(size for each, size in enumerate(sizes) if keeps or each not in axes))


def _sums(data: Any) -> Any:
    """Add up each row; the alignment of its first element decides the order."""
    rows, count = data.shape
    period = _LANES // gcd(count, _LANES)
    if period == 1 or rows == 1:
        return _row_sums(data, 0)
    groups = -(-rows // period)
    if groups * period > rows:
        more = relax.const(np.zeros((groups * period - rows, count), np.float32))
        data = np.concatenate([data, data.to(more)], 0)
    grouped, found = data.reshape(groups, period, count), []
    for index in range(period):
        part = grouped[:, index : index + 1]
        found.append(_row_sums(part.reshape(groups, count), min(-index * count % _LANES, count)))
    sums: Any = np.concatenate(found, 1)
    return sums.reshape(groups * period, 1)[:rows]


def _row_sums(data: Any, before: int) -> Any:
    """Add up rows whose vectors begin after some elements, as Eigen does.

    The order: two sums of vectors, the sum of both, the remaining vector, and the lanes of the
    result. Then come the elements before all vectors, one by one, and those behind them.
    """
    rows, count = data.shape
    pairs, whole = (max(count - before, 0) // size * size for size in (2 * _LANES, _LANES))
    if not whole:
        before, total = 1, data[:, :1]
    else:
        total = data[:, before : before + _LANES]
        if pairs:
            vectors = data[:, before : before + pairs].reshape(rows, -1, 2 * _LANES)
            both = vectors.sum(1, np.float32)
            total = both[:, :_LANES] + both[:, _LANES:]
            if whole > pairs:
                total = total + data[:, before + pairs : before + whole]
        total = lanes_sum(total)
    for index in (*range(before if whole else 0), *range(before + whole, count)):
        total = total + data[:, index : index + 1]
    return total


def lanes_sum(vectors: Any) -> Any:
    """Add up the lanes of vectors: both halves, then the halves of their sum."""
    for size in (_LANES // 2, _LANES // 4):
        vectors = vectors[:, :size] + vectors[:, size : 2 * size]
    return vectors


@converter("CumProd")
def _cum_prod(call: Call, data: relax.Expr, given: Any) -> relax.Expr:
    """Multiply each element by all before it, or by all after it along a reversed axis."""
    known, rank = constant_of(given), len(spec_of(data).shape)
    if known is None or known.size != 1 or not -rank <= known.item() < rank:
        raise UnsupportedError("its axis must be constant, and one of the data's")
    axis, emit = int(known.item()) % rank, call.emit

    def turned(each: relax.Expr) -> relax.Expr:
        return emit(R.flip(each, axis)) if call.integer("reverse") else emit(each)

    is_exclusive = bool(call.integer("exclusive"))
    return turned(emit(R.cumprod(turned(data), axis, exclusive=is_exclusive)))
