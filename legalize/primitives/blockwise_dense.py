"""blockwise_dense in Relax primitives."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.registry import primitive
from qnn_ops.blockwise_dense import blockwise_dense, middle_of
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.rounded import rounded

_BYTE = 8
_MOST = 127


@primitive(blockwise_dense)
def _blockwise_dense(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    data: relax.Expr,
    weights: relax.Expr,
    scales: relax.Expr,
    points: relax.Expr | None = None,
) -> relax.Expr:
    units, blocks = spec_of(scales).shape
    depth, size = spec_of(data).shape[-1], attrs.block_size
    bytes_of = R.expand_dims(weights, -1)
    shifts = relax.const(np.arange(0, _BYTE, attrs.bits, dtype=np.uint8))
    mask = relax.const(np.uint8((1 << attrs.bits) - 1))
    integers = R.bitwise_and(R.right_shift(bytes_of, shifts), mask)
    steps = R.astype(R.reshape(integers, (units, blocks, size)), "float32")
    if points is None:
        points = relax.const(np.float32(middle_of(attrs.bits)))
    else:
        points = R.expand_dims(points, -1)
    if attrs.quantizes_data:
        weights = R.subtract(R.astype(steps, "int16"), R.astype(points, "int16"))
        return _integer_product(builder, data, builder.emit(weights), scales)
    real = R.multiply(R.subtract(steps, points), R.expand_dims(scales, -1))
    columns = R.permute_dims(R.reshape(real, (units, blocks * size)), [1, 0])
    if depth < blocks * size:
        columns = R.strided_slice(columns, [0], [0], [depth])
    # Apart: fused with what makes them, it would make them for each product anew.
    return R.matmul(data, builder.emit(columns))


def _integer_product(
    builder: relax.BlockBuilder, data: relax.Expr, weights: relax.Expr, scales: relax.Expr
) -> relax.Expr:
    """Multiply blocks of rows that become integers; weights are int16 [units, blocks, size]."""
    emit, shape = builder.emit, spec_of(data).shape
    units, blocks, size = spec_of(weights).shape
    count, depth = prod(shape[:-1]), shape[-1]
    rows = emit(R.reshape(data, (count, depth)))
    if depth < blocks * size:
        more = relax.const(np.zeros((count, blocks * size - depth), np.float32))
        rows = emit(R.concat([rows, more], 1))
    rows = emit(R.permute_dims(emit(R.reshape(rows, (count, blocks, size))), [1, 0, 2]))
    zero, most = (relax.const(np.float32(number)) for number in (0, _MOST))
    largest = emit(R.max(emit(R.abs(rows)), -1, keepdims=True))
    is_none = emit(R.equal(largest, zero))
    factor = emit(R.where(is_none, zero, emit(R.divide(most, largest))))
    steps = emit(R.astype(emit(R.round(emit(R.multiply(rows, factor)))), "int16"))
    columns = emit(R.permute_dims(weights, [1, 2, 0]))
    sums = emit(R.matmul(steps, columns, out_dtype="int32"))
    own = emit(R.divide(largest, most))
    wide = emit(R.reshape(R.permute_dims(scales, [1, 0]), (blocks, 1, units)))
    products = emit(R.multiply(emit(R.astype(sums, "float32")), emit(R.multiply(own, wide))))
    total = emit(R.sum(emit(rounded(products)), 0))
    return R.reshape(total, (*shape[:-1], units))
