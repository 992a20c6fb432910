"""Functions of one quantized operand, as tables of their 256 results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Array, Context, per_tensor
from frontends.tflite.converters.registry import converter
from frontends.tflite.options import LeakyReluOptions
from qnn_ops import quantized_lookup
from qnn_ops.tables import (
    hard_swish_table,
    leaky_relu_table,
    logistic_table,
    tanh_table,
    unary_table,
)


def _exp(x: Array) -> Array:
    # C's expf is exp rounded to float32 (to within 0.51 of its last digit).
    return np.exp(x.astype(np.float64)).astype(np.float32)


_TABLES: dict[str, Callable[..., Array]] = {
    "EXP": partial(unary_table, _exp),
    "HARD_SWISH": hard_swish_table,
    "LOGISTIC": logistic_table,
    "TANH": tanh_table,
}


@converter(*_TABLES)
def convert_unary_function(ctx: Context) -> relax.Expr:
    """Return a function without options."""
    return _look_up(ctx, _TABLES[ctx.operator.code])


@converter("LEAKY_RELU")
def convert_leaky_relu(ctx: Context) -> relax.Expr:
    """Compute x where it is positive, alpha * x elsewhere."""
    return _look_up(ctx, partial(leaky_relu_table, ctx.options(LeakyReluOptions).alpha))


def _look_up(ctx: Context, table_of: Callable[..., Array]) -> relax.Expr:
    data, result = ctx.input(0), ctx.output()
    if data.tensor.dtype != result.dtype:
        raise UnsupportedError(f"from {data.tensor.dtype} to {result.dtype}")
    table = table_of(*data.quantization, *per_tensor(result), result.dtype)
    return quantized_lookup(data.expr, ctx.values.add_constant(result, "_table", table))
