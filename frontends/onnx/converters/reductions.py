"""Reductions along axes, in the order that ONNX Runtime adds them in, and CumProd."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.known import is_dequantized
from frontends.onnx.converters.registry import Call, converter
from qnn_ops.registry import constant_of, spec_of


def axes_of(given: relax.Expr | None, attributes: dict[str, Any], rank: int) -> list[int]:
    """Return the axes, an attribute or an operand, counted from the first."""
    axes = attributes.get("axes", ())
    if given is not None:
        known = constant_of(given)
        if known is None:
            raise UnsupportedError("its axes must be constant")
        axes = known.reshape(-1).tolist()
    if any(not -rank <= axis < rank for axis in axes):
        raise UnsupportedError(f"axes {list(axes)} are outside a tensor of {rank} dimensions")
    return sorted({int(axis) % rank for axis in axes})


Reduction = Callable[..., relax.Expr]


@converter("ReduceMax")
def _reduce_max(call: Call) -> relax.Expr:
    return _extreme(call, R.max, -np.inf)


@converter("ReduceMin")
def _reduce_min(call: Call) -> relax.Expr:
    return _extreme(call, R.min, np.inf)


def _extreme(call: Call, reduction: Reduction, infinity: float) -> relax.Expr:
    """Reduce along axes; of infinities alone, as masks leave them, to one.

    TVM's sums of this kind begin with the lowest, or the highest, finite number. ONNX Runtime
    begins with the first element: where this is NaN the result is. Others that are NaN count for
    nothing (as there, except for some that its vectors begin with).
    """
    data, given = call.operands(2)
    spec, attributes = spec_of(data), call.attributes
    axes, emit = axes_of(given, attributes, len(spec.shape)), call.emit
    if not axes and attributes.get("noop_with_empty_axes", 0):
        return data
    if 0 in spec.shape:
        raise UnsupportedError("it has no elements")
    along = {"axis": axes or None, "keepdims": bool(attributes.get("keepdims", 1))}
    if spec.dtype == "bool":
        return R.astype(emit(reduction(emit(R.astype(data, "uint8")), **along)), "bool")
    if not spec.dtype.startswith("float") or is_dequantized(call.builder, data):
        return reduction(data, **along)
    limit = relax.const(np.asarray(infinity, spec.dtype))
    numbers = emit(R.where(emit(R.isnan(data)), limit, data))
    found = emit(reduction(numbers, **along))
    is_other = emit(R.astype(emit(R.not_equal(numbers, limit)), "int8"))
    has_other = emit(R.max(is_other, **along))
    is_finite = emit(R.greater(has_other, relax.const(np.int8(0))))
    found = emit(R.where(is_finite, found, limit))
    axes = axes or list(range(len(spec.shape)))
    ends = [1 if axis in axes else size for axis, size in enumerate(spec.shape)]
    first = emit(R.strided_slice(data, axes, [0] * len(axes), [1] * len(axes)))
    first = emit(R.reshape(first, ends if along["keepdims"] else spec_of(found).shape))
    return R.where(emit(R.isnan(first)), first, found)


@converter("ReduceLogSum")
def _log_sum(call: Call) -> relax.Expr:
    data, axes, keeps = _parts(call)
    return R.log(call.emit(R.sum(data, axes, keepdims=keeps)))


@converter("ReduceLogSumExp")
def _log_sum_exp(call: Call) -> relax.Expr:
    """Take the largest off before powers are summed up, except for an infinite one."""
    data, axes, keeps = _parts(call)
    emit, dtype = call.emit, spec_of(data).dtype
    most = emit(R.max(data, axes, keepdims=True))
    zero = relax.const(np.zeros((), dtype), dtype)
    base = emit(R.where(emit(R.isfinite(most)), most, zero))
    powers = emit(R.exp(emit(R.subtract(data, base))))
    result = emit(R.add(emit(R.log(emit(R.sum(powers, axes, keepdims=True)))), base))
    return result if keeps else R.squeeze(result, axes)


def _parts(call: Call) -> tuple[relax.Expr, list[int], bool]:
    data, given = call.operands(2)
    spec, attributes = spec_of(data), call.attributes
    if not spec.dtype.startswith("float"):
        raise UnsupportedError(f"its data must be real numbers, got {spec.dtype}")
    axes = axes_of(given, attributes, len(spec.shape))
    if not axes and attributes.get("noop_with_empty_axes", 0):
        raise UnsupportedError("no axes are all axes: noop_with_empty_axes is not imported")
    return data, axes or list(range(len(spec.shape))), bool(attributes.get("keepdims", 1))


# Of float32 in the vectors that Eigen adds, whatever the processor.
_LANES = 4


@converter("ReduceMean")
def _reduce_mean(call: Call) -> relax.Expr:
    data, given = call.operands(2)
    shape = spec_of(data).shape
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("its data must be float32")
    axes = axes_of(given, call.attributes, len(shape))
    if not axes and call.attributes.get("noop_with_empty_axes", 0):
        return data
    axes = axes or list(range(len(shape)))
    long = [each for each, size in enumerate(shape) if size > 1]
    reduced = [each for each in long if each in axes]
    count = prod(shape[each] for each in axes)
    keeps = call.attributes.get("keepdims", 1)
    if reduced != long[len(long) - len(reduced) :]:
        # No mean, which would be GlobalAveragePool's; its sums may have another order there.
        sums = call.emit(R.sum(data, axes, keepdims=bool(keeps)))
        return R.divide(sums, relax.const(np.float32(count)))
    rows = prod(shape) // count
    sums = _sums(call.builder, call.emit(R.reshape(data, (rows, count))), rows, count)
    mean = R.divide(sums, relax.const(np.float32(count)))
    sizes = [1 if each in axes else size for each, size in enumerate(shape)]
    kept = [size for each, size in enumerate(sizes) if keeps or each not in axes]
    return R.reshape(call.emit(mean), kept)


def _sums(builder: relax.BlockBuilder, data: relax.Expr, rows: int, count: int) -> relax.Expr:
    """Add up each row; where in memory a row begins decides how."""
    period = _LANES // gcd(count, _LANES)
    if period == 1 or rows == 1:
        return _row_sums(builder, data, 0, count)
    groups = -(-rows // period)
    if groups * period > rows:
        more = relax.const(np.zeros((groups * period - rows, count), np.float32))
        data = builder.emit(R.concat([data, more], 0))
    grouped = builder.emit(R.reshape(data, (groups, period, count)))
    found = []
    for place in range(period):
        part = R.reshape(R.strided_slice(grouped, [1], [place], [place + 1]), (groups, count))
        before = min(-place * count % _LANES, count)
        found.append(_row_sums(builder, builder.emit(part), before, count))
    sums = R.reshape(builder.emit(R.concat(found, 1)), (groups * period, 1))
    return builder.emit(R.strided_slice(builder.emit(sums), [0], [0], [rows]))


def _row_sums(builder: relax.BlockBuilder, data: relax.Expr, before: int, count: int) -> relax.Expr:
    """Add up rows whose vectors begin after some elements, as Eigen does.

    Two sums of vectors, then their sum, then the vector that is left; its lanes; then the elements
    before all vectors, one by one, and those after.
    """

    def part(begin: int, end: int) -> relax.Expr:
        return builder.emit(R.strided_slice(data, [1], [begin], [end]))

    pairs, whole = (
        (count - before) // size * size if count > before else 0 for size in (2 * _LANES, _LANES)
    )
    if not whole:
        places, total = list(range(1, count)), part(0, 1)
    else:
        total = part(before, before + _LANES)
        if pairs:
            rows = spec_of(data).shape[0]
            vectors = R.reshape(
                part(before, before + pairs), (rows, pairs // _LANES // 2, 2 * _LANES)
            )
            both = builder.emit(R.sum(builder.emit(vectors), 1))
            halves = (
                builder.emit(R.strided_slice(both, [1], [begin], [begin + _LANES]))
                for begin in (0, _LANES)
            )
            total = builder.emit(R.add(*halves))
            if whole > pairs:
                total = builder.emit(R.add(total, part(before + pairs, before + whole)))
        for size in (2, 1):
            low, high = (
                builder.emit(R.strided_slice(total, [1], [begin], [begin + size]))
                for begin in (0, size)
            )
            total = builder.emit(R.add(low, high))
        places = [*range(before), *range(before + whole, count)]
    for place in places:
        total = builder.emit(R.add(total, part(place, place + 1)))
    return total


@converter("CumProd")
def _cum_prod(call: Call) -> relax.Expr:
    """Multiply each element with all before it, or of a reversed axis after it."""
    data, given = call.operands(2)
    known, rank = constant_of(given), len(spec_of(data).shape)
    if known is None or known.size != 1 or not -rank <= known.item() < rank:
        raise UnsupportedError("its axis must be constant, and one of the data's")
    axis, emit = int(known.item()) % rank, call.emit

    def turned(each: relax.Expr) -> relax.Expr:
        return emit(R.flip(each, axis)) if call.attributes.get("reverse", 0) else emit(each)

    is_exclusive = bool(call.attributes.get("exclusive", 0))
    return turned(emit(R.cumprod(turned(data), axis, exclusive=is_exclusive)))
