"""Operators of one float32 operand that Relax has too."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context
from frontends.tflite.converters.registry import float_converter
from frontends.tflite.options import LeakyReluOptions

_FUNCTIONS: dict[str, Callable[..., relax.Expr]] = {
    "ABS": R.abs,
    "CEIL": R.ceil,
    "COS": R.cos,
    "EXP": R.exp,
    "FLOOR": R.floor,
    "LOG": R.log,
    "LOGISTIC": R.sigmoid,
    "NEG": R.negative,
    "RSQRT": R.rsqrt,
    "SIN": R.sin,
    "SQRT": R.sqrt,
    "SQUARE": R.square,
    "TANH": R.tanh,
}


@float_converter(*_FUNCTIONS)
def convert_unary(ctx: Context) -> relax.Expr:
    """Return the function of the same name."""
    return _FUNCTIONS[ctx.operator.code](ctx.input(0).expr)


@float_converter("ELU")
def convert_elu(ctx: Context) -> relax.Expr:
    """Compute x where it is positive, exp(x) - 1 elsewhere."""
    data = ctx.input(0).expr
    zero, one = relax.const(0.0, "float32"), relax.const(1.0, "float32")
    # The minimum keeps exp from overflowing where its value is not used.
    below = R.subtract(R.exp(R.minimum(data, zero)), one)
    return R.where(R.greater(data, zero), data, below)


@float_converter("HARD_SWISH")
def convert_hard_swish(ctx: Context) -> relax.Expr:
    """Compute x * relu6(x + 3) / 6."""
    data = ctx.input(0).expr
    gate = R.clip(R.add(data, relax.const(3.0, "float32")), 0.0, 6.0)
    return R.divide(R.multiply(data, gate), relax.const(6.0, "float32"))


@float_converter("LEAKY_RELU")
def convert_leaky_relu(ctx: Context) -> relax.Expr:
    """Compute x where it is positive, alpha * x elsewhere."""
    return R.nn.leakyrelu(ctx.input(0).expr, ctx.options(LeakyReluOptions).alpha)


@float_converter("PRELU")
def convert_prelu(ctx: Context) -> relax.Expr:
    """Compute x where positive, alpha * x elsewhere; alpha, the second operand, is broadcast."""
    data, alpha = ctx.input(0).expr, ctx.input(1).expr
    positive = R.greater_equal(data, relax.const(0.0, "float32"))
    return R.where(positive, data, R.multiply(data, alpha))


@float_converter("L2_NORMALIZATION")
def convert_l2_normalization(ctx: Context) -> relax.Expr:
    """Divide x by its length along the last axis, which is taken to be at least 1e-6."""
    data = ctx.input(0).expr
    length = R.sqrt(R.sum(R.square(data), [-1], keepdims=True))
    return R.divide(data, R.maximum(length, relax.const(1e-6, "float32")))
