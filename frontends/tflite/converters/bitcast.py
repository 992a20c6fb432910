"""BITCAST."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.fixed_point import number
from frontends.tflite.converters.registry import data_converter
from qnn_ops import QnnError, reinterpret
from qnn_ops.float_arithmetic import OTHER
from qnn_ops.registry import spec_of

_BITS = {"int8": 8, "uint8": 8, "int16": 16, "int32": 32, "int64": 64}


@data_converter("BITCAST")
def convert_bitcast(ctx: Context) -> relax.Expr:
    """Read numbers as others of the same bytes, the lowest byte first.

    Wider numbers are taken apart along a new last axis, narrower ones are joined along it.
    """
    data = ctx.input(0)
    return read_as(ctx, data.expr, data.tensor.dtype, ctx.output().dtype)


def read_as(ctx: Context, data: relax.Expr, source: str, dtype: str) -> relax.Expr:
    """Read numbers of one type as those of another."""
    if source == dtype:
        return data
    if not {source, dtype} <= {*_BITS, "float32"}:
        raise UnsupportedError(f"from {source} to {dtype}")
    bits = _as_other(ctx, data) if source == "float32" else data
    inner = ["int32" if each == "float32" else each for each in (source, dtype)]
    result = bits if len({*inner}) == 1 else _integers(ctx, bits, inner[0], inner[1])
    return _as_other(ctx, result) if dtype == "float32" else result


def _as_other(ctx: Context, expr: relax.Expr) -> relax.Expr:
    """Return the bits of float32 as int32, or back."""
    typed = ctx.builder.emit(expr)
    shape = spec_of(typed).shape
    if 0 in shape:
        return R.zeros(shape, OTHER[spec_of(typed).dtype])
    flat = ctx.builder.emit(reshaped(typed, (prod(shape),)))
    return reshaped(ctx.builder.emit(reinterpret(flat)), shape)


def _integers(ctx: Context, data: relax.Expr, source: str, dtype: str) -> relax.Expr:
    """Read integers of one type as those of another."""
    data = ctx.builder.emit(data)
    shape = spec_of(data).shape
    emit, narrow = ctx.builder.emit, min(_BITS[source], _BITS[dtype])
    parts = max(_BITS[source], _BITS[dtype]) // narrow
    if parts == 1:
        return R.astype(data, dtype)
    shifts = relax.const(np.arange(parts) * narrow, "int64")
    wide = emit(R.astype(data, "int64"))
    if _BITS[source] > narrow:
        return R.astype(R.right_shift(emit(reshaped(wide, (*shape, 1))), shifts), dtype)
    if not shape or shape[-1] != parts:
        raise QnnError(f"{ctx.tensor(0).label} has shape {shape}, needs {parts} at its end")
    bits = emit(R.bitwise_and(wide, number(2**narrow - 1)))
    return R.astype(R.sum(emit(R.left_shift(bits, shifts)), [-1]), dtype)
