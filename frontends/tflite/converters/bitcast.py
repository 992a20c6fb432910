"""BITCAST."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.fixed_point import number
from frontends.tflite.converters.registry import data_converter
from qnn_ops.errors import QnnError

_BITS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}


@data_converter("BITCAST")
def convert_bitcast(ctx: Context) -> relax.Expr:
    """Read integers as others of the same bytes, the lowest byte first.

    Wider integers are taken apart along a new last axis, narrower ones are joined along it.
    """
    data, dtype = ctx.input(0), ctx.output().dtype
    source, shape = data.tensor.dtype, data.shape
    if source == dtype:
        return data.expr
    if source not in _BITS or dtype not in _BITS:
        raise UnsupportedError(f"from {source} to {dtype}")
    emit, narrow = ctx.builder.emit, min(_BITS[source], _BITS[dtype])
    parts = max(_BITS[source], _BITS[dtype]) // narrow
    if parts == 1:
        return R.astype(data.expr, dtype)
    shifts = relax.const(np.arange(parts) * narrow, "int64")
    wide = emit(R.astype(data.expr, "int64"))
    if _BITS[source] > narrow:
        return R.astype(R.right_shift(emit(reshaped(wide, (*shape, 1))), shifts), dtype)
    if not shape or shape[-1] != parts:
        raise QnnError(f"{data.tensor.label} has shape {shape}, needs {parts} at its end")
    bits = emit(R.bitwise_and(wide, number(2**narrow - 1)))
    return R.astype(R.sum(emit(R.left_shift(bits, shifts)), [-1]), dtype)
