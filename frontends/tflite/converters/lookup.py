"""Functions of quantized operands, as tables of their results, and POW."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Array, Context, Operand, per_tensor, reshaped
from frontends.tflite.converters.quantization import check_symmetric
from frontends.tflite.converters.registry import (
    converter,
    float_converter,
    int16_converter,
    unscaled_converter,
    whole_converter,
)
from frontends.tflite.options import GeluOptions, LeakyReluOptions
from qnn_ops import natural_power, quantized_lookup
from qnn_ops.arithmetic import round_half_away
from qnn_ops.errors import QnnError
from qnn_ops.tables import (
    hard_swish_table,
    leaky_relu_table,
    logistic_table,
    tanh_table,
    unary_table,
)
from qnn_ops.tables_int16 import (
    EVERY_INT16,
    abs_table_int16,
    exp_table_int16,
    gelu_table_int16,
    leaky_relu_table_int16,
    log_table_int16,
    logistic_table_int16,
    rsqrt_table_int16,
    sqrt_table_int16,
    tanh_table_int16,
)
from qnn_ops.unary_tables import (
    absolute_table,
    elu_table,
    gelu_table,
    log_table,
    negative_table,
    rsqrt_table,
    sqrt_table,
)


def _exp(x: Array) -> Array:
    # C's expf is exp rounded to float32 (to within 0.51 of its last digit).
    return np.exp(x.astype(np.float64)).astype(np.float32)


_TABLES: dict[str, Callable[..., Array]] = {
    "ABS": absolute_table,
    "ELU": elu_table,
    "EXP": partial(unary_table, _exp),
    "HARD_SWISH": hard_swish_table,
    "LOG": log_table,
    "LOGISTIC": logistic_table,
    "RSQRT": rsqrt_table,
    "SQRT": sqrt_table,
    "TANH": tanh_table,
}
# Of uint8 LiteRT has none of these.
_OF_INT8 = ("ABS", "ELU", "LOG", "NEG", "RSQRT", "SQRT")


@converter(*_TABLES)
def convert_unary_function(ctx: Context) -> relax.Expr:
    """Return a function without options."""
    return _look_up(ctx, _TABLES[ctx.operator.code])


@converter("LEAKY_RELU")
def convert_leaky_relu(ctx: Context) -> relax.Expr:
    """Compute x where it is positive, alpha * x elsewhere."""
    return _look_up(ctx, partial(leaky_relu_table, ctx.options(LeakyReluOptions).alpha))


@converter("GELU")
def convert_gelu(ctx: Context) -> relax.Expr:
    """Multiply x by the normal distribution at x, or an approximation of it."""
    return _look_up(ctx, partial(gelu_table, ctx.options(GeluOptions).approximate))


@converter("NEG")
@unscaled_converter("NEG")
def convert_negative(ctx: Context) -> relax.Expr:
    """Negate the integers, whatever they mean, as LiteRT does."""
    return _looked_up(ctx, negative_table)


def _look_up(ctx: Context, table_of: Callable[..., Array]) -> relax.Expr:
    result = per_tensor(ctx.output())
    return _looked_up(ctx, partial(table_of, *ctx.input(0).quantization, *result))


def _looked_up(ctx: Context, table_of: Callable[[str], Array]) -> relax.Expr:
    data, result = ctx.input(0), ctx.output()
    if data.tensor.dtype != result.dtype:
        raise UnsupportedError(f"from {data.tensor.dtype} to {result.dtype}")
    if result.dtype == "uint8" and ctx.operator.code in _OF_INT8:
        raise UnsupportedError("LiteRT has no such operator of uint8")
    table = table_of(result.dtype)
    return quantized_lookup(data.expr, ctx.values.add_constant(result, "_table", table))


_INT16_TABLES: dict[str, Callable[..., Array]] = {
    "ABS": abs_table_int16,
    "EXP": exp_table_int16,
    "LOG": log_table_int16,
    "LOGISTIC": logistic_table_int16,
    "RSQRT": rsqrt_table_int16,
    "SQRT": sqrt_table_int16,
    "TANH": tanh_table_int16,
}


@int16_converter(*_INT16_TABLES)
def convert_int16_function(ctx: Context) -> relax.Expr:
    """Return a function without options."""
    return _look_up_int16(ctx, _INT16_TABLES[ctx.operator.code])


@int16_converter("LEAKY_RELU")
def convert_int16_leaky_relu(ctx: Context) -> relax.Expr:
    """Compute x where it is positive, alpha * x elsewhere."""
    alpha = ctx.options(LeakyReluOptions).alpha
    return _look_up_int16(ctx, partial(leaky_relu_table_int16, alpha))


@int16_converter("GELU")
def convert_int16_gelu(ctx: Context) -> relax.Expr:
    """Multiply x by the normal distribution at x, or an approximation of it."""
    return _look_up_int16(ctx, partial(gelu_table_int16, ctx.options(GeluOptions).approximate))


@int16_converter("NEG")
def convert_int16_negative(ctx: Context) -> relax.Expr:
    """Negate the integers, whatever they mean; the lowest one wraps."""
    return _looked_up_int16(ctx, (-EVERY_INT16).astype(np.int16))


def _look_up_int16(ctx: Context, table_of: Callable[..., Array]) -> relax.Expr:
    data, result = ctx.input(0), ctx.output()
    check_symmetric(data.tensor, result)
    return _looked_up_int16(ctx, table_of(data.quantization[0], per_tensor(result)[0]))


def _looked_up_int16(ctx: Context, table: Array) -> relax.Expr:
    return quantized_lookup(
        ctx.input(0).expr, ctx.values.add_constant(ctx.output(), "_table", table)
    )


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
