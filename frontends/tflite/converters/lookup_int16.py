"""Functions of one int16 operand, as tables of their 65536 results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from tvm import relax

from frontends.tflite.converters.context import Array, Context, per_tensor
from frontends.tflite.converters.quantization import check_symmetric
from frontends.tflite.converters.registry import int16_converter
from frontends.tflite.options import GeluOptions, LeakyReluOptions
from qnn_ops import quantized_lookup
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

_TABLES: dict[str, Callable[..., Array]] = {
    "ABS": abs_table_int16,
    "EXP": exp_table_int16,
    "LOG": log_table_int16,
    "LOGISTIC": logistic_table_int16,
    "RSQRT": rsqrt_table_int16,
    "SQRT": sqrt_table_int16,
    "TANH": tanh_table_int16,
}


@int16_converter(*_TABLES)
def convert_int16_function(ctx: Context) -> relax.Expr:
    """Return a function without options."""
    return _look_up(ctx, _TABLES[ctx.operator.code])


@int16_converter("LEAKY_RELU")
def convert_int16_leaky_relu(ctx: Context) -> relax.Expr:
    """Compute x where it is positive, alpha * x elsewhere."""
    alpha = ctx.options(LeakyReluOptions).alpha
    return _look_up(ctx, partial(leaky_relu_table_int16, alpha))


@int16_converter("GELU")
def convert_int16_gelu(ctx: Context) -> relax.Expr:
    """Multiply x by the normal distribution at x, or an approximation of it."""
    return _look_up(ctx, partial(gelu_table_int16, ctx.options(GeluOptions).approximate))


@int16_converter("NEG")
def convert_int16_negative(ctx: Context) -> relax.Expr:
    """Negate the integers, whatever they mean; the lowest one wraps."""
    return _looked_up(ctx, (-EVERY_INT16).astype(np.int16))


def _look_up(ctx: Context, table_of: Callable[..., Array]) -> relax.Expr:
    data, result = ctx.input(0), ctx.output()
    check_symmetric(data.tensor, result)
    return _looked_up(ctx, table_of(data.quantization[0], per_tensor(result)[0]))


def _looked_up(ctx: Context, table: Array) -> relax.Expr:
    return quantized_lookup(
        ctx.input(0).expr, ctx.values.add_constant(ctx.output(), "_table", table)
    )
