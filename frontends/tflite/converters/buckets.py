"""BUCKETIZE."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import BucketizeOptions
from qnn_ops.errors import QnnError


@data_converter("BUCKETIZE")
def convert_bucketize(ctx: Context) -> relax.Expr:
    """Count the boundaries that a number is not below; it is compared in float32."""
    data, boundaries = ctx.input(0), ctx.options(BucketizeOptions).boundaries
    if data.tensor.dtype not in ("int32", "int64", "float32"):
        raise UnsupportedError(f"of {data.tensor.dtype}")
    if not np.all(boundaries[:-1] <= boundaries[1:]):
        raise QnnError(f"the boundaries must be sorted, got {boundaries.tolist()}")
    if 0 in data.shape or boundaries.size == 0:
        return R.zeros(data.shape, "int32")
    values = ctx.builder.emit(R.expand_dims(R.astype(data.expr, "float32"), -1))
    is_below = R.astype(R.less(values, relax.const(boundaries)), "int32")
    count = relax.const(np.int32(boundaries.size))
    return R.subtract(count, R.sum(ctx.builder.emit(is_below), [-1]))
