"""blockwise_dense in Relax primitives."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.registry import primitive
from qnn_ops.blockwise_dense import blockwise_dense, middle_of
from qnn_ops.registry import Attrs, spec_of

_BYTE = 8


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
    real = R.multiply(R.subtract(steps, points), R.expand_dims(scales, -1))
    columns = R.permute_dims(R.reshape(real, (units, blocks * size)), [1, 0])
    if depth < blocks * size:
        columns = R.strided_slice(columns, [0], [0], [depth])
    # Apart: fused with what makes them, it would make them for each product anew.
    return R.matmul(data, builder.emit(columns))
