"""ReduceMean, whose float32 sums have the order that ONNX Runtime adds them in."""

from __future__ import annotations

from math import gcd, prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.onnx.converters.axes import axes_of
from frontends.onnx.converters.registry import Operands, converter, operands_of
from qnn_ops.registry import spec_of

# Of float32 in the vectors that Eigen adds, whatever the processor.
_LANES = 4


@converter("ReduceMean")
def _reduce_mean(
    builder: relax.BlockBuilder, operands: Operands, attributes: dict[str, Any]
) -> relax.Expr:
    data, given = operands_of(operands, 2)
    shape = spec_of(data).shape
    if spec_of(data).dtype != "float32":
        raise UnsupportedError("its data must be float32")
    axes = axes_of(given, attributes, len(shape))
    if not axes and attributes.get("noop_with_empty_axes", 0):
        return data
    axes = axes or list(range(len(shape)))
    long = [each for each, size in enumerate(shape) if size > 1]
    reduced = [each for each in long if each in axes]
    count = prod(shape[each] for each in axes)
    keeps = attributes.get("keepdims", 1)
    if reduced != long[len(long) - len(reduced) :]:
        # No mean, which would be GlobalAveragePool's; its sums may have another order there.
        sums = builder.emit(R.sum(data, axes, keepdims=bool(keeps)))
        return R.divide(sums, relax.const(np.float32(count)))
    rows = prod(shape) // count
    sums = _sums(builder, builder.emit(R.reshape(data, (rows, count))), rows, count)
    mean = R.divide(sums, relax.const(np.float32(count)))
    sizes = [1 if each in axes else size for each, size in enumerate(shape)]
    kept = [size for each, size in enumerate(sizes) if keeps or each not in axes]
    return R.reshape(builder.emit(mean), kept)


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
