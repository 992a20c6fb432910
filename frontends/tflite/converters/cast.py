"""CAST."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.comparisons import unequal
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.packing import BITS
from frontends.tflite.values import DTYPES


@data_converter("CAST")
def convert_cast(ctx: Context) -> relax.Expr:
    """Convert numbers, whatever scale the file states; integers wrap, floats saturate."""
    data, dtype = ctx.input(0), ctx.output().dtype
    source = data.tensor.dtype
    if source not in DTYPES:
        raise UnsupportedError(f"from {source}")
    packed = data.tensor.packed or ctx.output().packed
    if packed and "float32" not in (source, dtype):
        raise UnsupportedError(f"between {packed} and another type than float32")
    if source == dtype:
        return data.expr
    if dtype == "bool":
        return unequal(data.expr, relax.const(0, source))
    if source == "float32":
        return _saturated(ctx, data.expr, dtype, BITS.get(packed, np.iinfo(dtype).bits))
    return R.astype(data.expr, dtype)


def _saturated(ctx: Context, data: relax.Expr, dtype: str, bits: int) -> relax.Expr:
    """Round towards zero into the range of so many bits; what is no number is the highest one."""
    low, high = (end >> (np.iinfo(dtype).bits - bits) for end in _ends(dtype))
    most = np.float32(high)
    if int(most) > high:  # int32 and int64: it is no float32
        most = np.nextafter(most, np.float32(0))
    highest = relax.const(most)
    fits = ctx.builder.emit(R.less_equal(data, highest))
    inside = R.maximum(R.where(fits, data, highest), relax.const(np.float32(low)))
    return R.where(fits, R.astype(inside, dtype), relax.const(high, dtype))


def _ends(dtype: str) -> tuple[int, int]:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
