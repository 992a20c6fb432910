"""Functions of one quantized operand, as tables of their 256 results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Array, Context, per_tensor
from frontends.tflite.converters.registry import converter, unscaled_converter
from frontends.tflite.options import GeluOptions, LeakyReluOptions
from qnn_ops import quantized_lookup
from qnn_ops.tables import (
    hard_swish_table,
    leaky_relu_table,
    logistic_table,
    tanh_table,
    unary_table,
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
