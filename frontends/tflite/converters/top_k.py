"""TOPK_V2."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.registry import data_converter
from qnn_ops.errors import QnnError

_MOST = 1 << 13  # elements of a row, each of which is compared with each


@data_converter("TOPK_V2")
def convert_top_k(ctx: Context) -> list[relax.Expr]:
    """Give the largest elements of each row and their places; of equal ones the first.

    An element's rank is how many others come before it: those that are larger, and those before
    it that are as large.
    """
    data, count = ctx.input(0), ctx.integer(1)
    dtype = data.tensor.dtype
    if not data.shape or not 0 <= count <= data.shape[-1]:
        raise QnnError(f"{count} elements of rows of shape {data.shape}")
    if ctx.output(1).dtype != "int32" or dtype == "bool" or data.shape[-1] > _MOST:
        raise UnsupportedError(
            f"{ctx.output(1).dtype} places in rows of {data.shape[-1]} {dtype} elements"
        )
    *outer, size = data.shape
    if 0 in data.shape or count == 0:
        return [R.zeros([*outer, count], each) for each in (dtype, "int32")]
    places = np.arange(size, dtype=np.int32)
    others = reshaped(data.expr, (*outer, 1, size))
    each = reshaped(data.expr, (*outer, size, 1))
    earlier = relax.const(places[np.newaxis, :] < places[:, np.newaxis])
    is_before = R.logical_or(R.greater(others, each), R.logical_and(R.equal(others, each), earlier))
    rank = ctx.builder.emit(R.sum(R.astype(is_before, "int32"), [-1]))
    wanted = relax.const(places[:count, np.newaxis])
    is_it = ctx.builder.emit(R.equal(reshaped(rank, (*outer, 1, size)), wanted))
    lowest = -np.inf if dtype == "float32" else np.iinfo(dtype).min
    values = R.where(is_it, others, relax.const(lowest, dtype))
    found = R.where(is_it, relax.const(places), relax.const(0, "int32"))
    return [R.max(values, [-1]), R.max(found, [-1])]
