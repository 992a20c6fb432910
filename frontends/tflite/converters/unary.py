"""Operators of one float32 operand that Relax has too, and of quantized ones without a scale."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.context import Context
from frontends.tflite.converters.plain import check_one_scale, with_least_scale, zero_points
from frontends.tflite.converters.registry import (
    INT16,
    QUANTIZED,
    float_converter,
    unscaled_converter,
)
from frontends.tflite.options import (
    GeluOptions,
    LeakyReluOptions,
    LocalResponseNormalizationOptions,
)
from qnn_ops.errors import QnnError
from qnn_ops.rounded import rounded

_ROOT = math.sqrt(2 / math.pi)

_FUNCTIONS: dict[str, Callable[..., relax.Expr]] = {
    "ABS": R.abs,
    "CEIL": R.ceil,
    "COS": R.cos,
    "EXP": R.exp,
    "FLOOR": R.floor,
    "LOG": R.log,
    "NEG": R.negative,
    "RELU_0_TO_1": lambda data: R.clip(data, 0.0, 1.0),
    "ROUND": R.round,
    "RSQRT": R.rsqrt,
    "SIGN": R.sign,
    "SIN": R.sin,
    "SQRT": R.sqrt,
    "SQUARE": R.square,
}


@float_converter(*_FUNCTIONS)
def convert_unary(ctx: Context) -> relax.Expr:
    """Return the function of the same name."""
    result = _FUNCTIONS[ctx.operator.code](ctx.input(0).expr)
    return rounded(ctx.builder.emit(result)) if ctx.operator.code == "SQUARE" else result


def _in_float64(function: Callable[[relax.Expr], relax.Expr], data: relax.Expr) -> relax.Expr:
    # TVM's tanh and erf of float32 lose digits where they are small.
    return R.astype(function(R.astype(data, "float64")), "float32")


@float_converter("TANH")
def convert_tanh(ctx: Context) -> relax.Expr:
    """Return the function of the same name."""
    return _in_float64(R.tanh, ctx.input(0).expr)


@float_converter("LOGISTIC")
def convert_logistic(ctx: Context) -> relax.Expr:
    """Compute 1 / (1 + exp(-x)); below -9 that is exp(x), as in LiteRT."""
    data, one = ctx.input(0).expr, relax.const(np.float32(1))
    quotient = R.divide(one, R.add(one, R.exp(R.negative(data))))
    return R.where(R.less(data, relax.const(np.float32(-9))), R.exp(data), quotient)


@float_converter("ELU")
def convert_elu(ctx: Context) -> relax.Expr:
    """Compute x where it is positive, exp(x) - 1 elsewhere."""
    data = ctx.input(0).expr
    zero, one = relax.const(0.0, "float32"), relax.const(1.0, "float64")
    # The minimum keeps exp from overflowing where its value is not used.
    below = _in_float64(lambda x: R.subtract(R.exp(x), one), R.minimum(data, zero))
    return R.where(R.greater(data, zero), data, below)


@float_converter("GELU")
def convert_gelu(ctx: Context) -> relax.Expr:
    """Compute x times the normal distribution up to x, or an approximation of it by tanh."""
    data = ctx.input(0).expr

    def number(value: float) -> relax.Expr:
        return relax.const(np.float32(value))

    half = R.multiply(number(0.5), data)
    if ctx.options(GeluOptions).approximate:
        cube = R.multiply(R.multiply(data, data), data)
        inner = R.add(data, R.multiply(number(0.044715), cube))
        bent = _in_float64(R.tanh, R.multiply(number(_ROOT), inner))
        return rounded(ctx.builder.emit(R.multiply(half, R.add(number(1), bent))))
    scaled = R.multiply(data, number(math.sqrt(0.5)))
    one = relax.const(1.0, "float64")
    part = _in_float64(lambda x: R.add(one, R.erf(x)), scaled)
    return rounded(ctx.builder.emit(R.multiply(half, part)))


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


@float_converter("LOCAL_RESPONSE_NORMALIZATION")
def convert_local_response_normalization(ctx: Context) -> relax.Expr:
    """Divide x by a power of the sum of its neighbours' squares along the last axis.

    Of ``radius`` neighbours on either side LiteRT leaves out the last one.
    """
    options, data = ctx.options(LocalResponseNormalizationOptions), ctx.input(0)
    if not data.shape:
        raise QnnError(f"{data.tensor.label} is a scalar, which has no last axis")
    rank, depth, radius = len(data.shape), data.shape[-1], options.radius
    radius = min(max(radius, 0), depth)  # there are no more neighbours
    widths = [0] * (2 * rank - 2) + [radius, max(radius - 1, 0)]
    squares = ctx.builder.emit(R.nn.pad(R.square(data.expr), widths, pad_value=0.0))
    total: relax.Expr = R.zeros(data.shape, "float32")
    for place in range(2 * radius):
        part = R.strided_slice(squares, [rank - 1], [place], [place + depth])
        total = ctx.builder.emit(R.add(total, ctx.builder.emit(part)))
    scaled = R.multiply(relax.const(np.float32(options.alpha)), total)
    base = R.add(relax.const(np.float32(options.bias)), scaled)
    factor = R.power(base, relax.const(np.float32(-options.beta)))
    return rounded(ctx.builder.emit(R.multiply(data.expr, factor)))


_RESCALING = (*("HARD_SWISH", "LEAKY_RELU", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1"),)
# For other operators LiteRT reads uninitialized memory as the scale, or crashes.
_READ_ZERO = {
    "int8": ("EXP", "GELU", "L2_NORMALIZATION", "LOGISTIC", "TANH"),
    "uint8": ("GELU", "L2_NORMALIZATION", "LOGISTIC", "TANH"),
    "int16": ("EXP", "GELU", "SOFTMAX"),
}


@unscaled_converter(*_RESCALING)
def convert_rescaling(ctx: Context) -> relax.Expr:
    """Return the result's zero point: the multiplier from scale to scale is 0."""
    return zero_points(ctx.output(), ctx.input(0).shape)


@unscaled_converter(*_READ_ZERO["int8"], *_READ_ZERO["int16"])
def convert_function_of_zero(ctx: Context) -> relax.Expr | list[relax.Expr]:
    """Return a function of data that all stand for 0, or whose scale it does not read."""
    code, data, result = ctx.operator.code, ctx.tensor(0), ctx.output()
    check_one_scale([result] if code in _READ_ZERO[result.dtype] else [data, result])
    return with_least_scale((INT16 if result.dtype == "int16" else QUANTIZED)[code])(ctx)
