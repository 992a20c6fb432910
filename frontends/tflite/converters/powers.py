"""POW."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, Operand, reshaped
from frontends.tflite.converters.registry import float_converter, whole_converter
from qnn_ops import QnnError, natural_power
from qnn_ops.arithmetic import round_half_away

_NEAR = np.float32(1e-5)  # as near an exponent lies to a natural number that it is taken for


@whole_converter("POW")
def convert_whole_power(ctx: Context) -> relax.Expr:
    """Raise int32 to powers; what int32 does not hold is its lowest number.

    With one exponent for all it wraps. A negative one, at which LiteRT ends a run, counts as 0.
    """
    data, exponent = ctx.input(0), ctx.input(1)
    if {data.tensor.dtype, exponent.tensor.dtype, ctx.output().dtype} != {"int32"}:
        raise UnsupportedError(f"of {data.tensor.dtype}, with powers of {exponent.tensor.dtype}")
    if exponent.tensor.is_constant and np.any(ctx.constant(1) < 0):
        raise QnnError(f"{exponent.tensor.label} has powers below 0")
    if _is_one(data, exponent):
        one = relax.const(np.int32(1))
        count = ctx.builder.emit(reshaped(exponent.expr, (1,)))
        power = _multiplied(ctx, data, count)
        return R.where(R.less(reshaped(exponent.expr, ()), one), one, power)
    zero = relax.const(np.int32(0))
    exponents = R.astype(R.maximum(exponent.expr, zero), "float64")
    # Of whole numbers a power that int32 holds is exact, or rounded so.
    power = ctx.builder.emit(R.round(R.power(R.astype(data.expr, "float64"), exponents)))
    limit = relax.const(2.0**31, "float64")
    lowest = relax.const(-(2.0**31), "float64")
    return R.astype(R.where(R.less(R.abs(power), limit), power, lowest), "int32")


@float_converter("POW")
def convert_float_power(ctx: Context) -> relax.Expr:
    """Raise float32 to powers; to one that is a natural number, or nearly so, by products."""
    data, exponent = ctx.input(0), ctx.input(1)
    power = R.power(data.expr, exponent.expr)
    if not _is_one(data, exponent):
        return power
    if exponent.tensor.is_constant:
        value = np.float32(ctx.constant(1).item())
        count = round_half_away(value)
        if not (1 <= count < 2**31 and abs(value - count) < _NEAR):
            return power
        return _multiplied(ctx, data, relax.const(count.astype(np.int32).reshape(1)))
    emit, value = ctx.builder.emit, ctx.builder.emit(reshaped(exponent.expr, (1,)))
    half = relax.const(0.5, "float64")
    count = emit(R.floor(R.add(R.astype(value, "float64"), half)))
    inside = emit(R.clip(count, 0, 2**31 - 1))
    distance = R.abs(R.subtract(value, R.astype(count, "float32")))
    is_inside = R.logical_and(
        R.equal(inside, count), R.greater_equal(inside, relax.const(1.0, "float64"))
    )
    is_near = emit(R.logical_and(is_inside, R.less(distance, relax.const(_NEAR))))
    counts = emit(R.astype(R.where(is_near, inside, relax.const(1.0, "float64")), "int32"))
    return R.where(reshaped(is_near, ()), _multiplied(ctx, data, counts), power)


def _is_one(data: Operand, exponent: Operand) -> bool:
    """Tell whether LiteRT takes one exponent for all: where it has another shape than the data."""
    return prod(exponent.shape) == 1 and exponent.shape != data.shape


def _multiplied(ctx: Context, data: Operand, count: relax.Expr) -> relax.Expr:
    """Return a power by products; of the shape of data and exponent broadcast."""
    shape = data.shape
    rank = len(ctx.input(1).shape)
    shape = (*[1] * (rank - len(shape)), *shape)
    if 0 in shape:
        return R.zeros(shape, data.tensor.dtype)
    flat = ctx.builder.emit(reshaped(data.expr, (prod(shape),)))
    return reshaped(ctx.builder.emit(natural_power(flat, count)), shape)
