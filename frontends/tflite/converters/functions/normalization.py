"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION."""

import math
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.fixed_point import (
    divided,
    inverse_sqrt,
    log,
    product,
    saturated,
)
from frontends.tflite.converters.functions.unary import of_zero
from frontends.tflite.operators import COMPUTED, OPERATORS, Row
from qnn_ops import quantized_softmax
from qnn_ops.arithmetic.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.expressions import take
from qnn_ops.errors import QnnError
from qnn_ops.quantized.softmax import output_quantization
from qnn_ops.tables.softmax import exp_table, sum_term

# The largest numbers of squares, and of exponentials in Q12.19, whose sum fits int32.
_MOST_SQUARES, _MOST_EXPONENTIALS = 33_025, 4_095
_POINTS = {"int8": (0, 127), "uint8": (128, 255)}


def convert_softmax(ctx: Context) -> relax.Expr:
    """Apply softmax along the last axis."""
    data, result = ctx.input(0), ctx.output()
    if 0 in data.shape:
        return R.zeros(data.shape, result.dtype)
    quantization = per_tensor(result)
    if result.dtype == "uint8" or data.dtype != result.dtype:  # LiteRT does not read it then
        quantization = output_quantization(data.dtype, result.dtype)
    return quantized_softmax(
        data.expr,
        *data.quantization,
        *quantization,
        result.dtype,
        beta=ctx.options.beta,
    )


def convert_float_softmax(ctx: Context) -> Any:
    """Apply softmax along the last axis; beta multiplies the distances from the largest value."""
    data = ctx.last_axis(0)
    below = data - data.max([-1], keepdims=True)
    powers = np.exp(below * np.float32(ctx.options.beta))
    return powers / powers.sum(-1, np.float32, True)


def convert_float_log_softmax(ctx: Context) -> Any:
    """Apply the logarithm of softmax along the last axis."""
    data = ctx.last_axis(0)
    below = data - data.max([-1], keepdims=True)
    return below - np.log(np.exp(below).sum(-1, np.float32, True))


def convert_l2_normalization(ctx: Context) -> Any:
    """Divide x by its length along the last axis; a length below 1e-6 counts as 1e-6."""
    data = ctx.array(0)
    length = np.sqrt(np.square(data).sum(-1, np.float32, True))
    return data / np.maximum(length, 1e-6)


def convert_quantized_l2_normalization(ctx: Context) -> Any:
    """Divide by the length along the last axis.

    Source: L2Normalization of TFLite's kernels/internal/reference: a Q31 multiplier by Newton's
    iteration; uint8 shifts by 7 bits before the product, and int8 after it.
    """
    data, dtype = ctx.input(0), ctx.output().dtype
    _check(ctx, _MOST_SQUARES, 1 / 128, 0)
    values = ctx.array(0).astype("int64") - data.quantization[1]
    squares = (values * values).sum(axis=-1, dtype="int64", keepdims=True)
    multiplier, shift = inverse_sqrt(squares)
    if dtype == "uint8":
        steps = divided(product(values * 128, multiplier), shift)
    else:
        left, right = np.maximum(7 - shift, 0), np.maximum(shift - 7, 0)
        steps = divided(product(values << left, multiplier), right)
    return saturated(steps + _POINTS[dtype][0], dtype)


def convert_quantized_log_softmax(ctx: Context) -> Any:
    """Take the logarithm of a softmax along the last axis.

    Source: LogSoftmax of TFLite's kernels/internal/reference, all in fixed point.
    """
    data, dtype = ctx.input(0), ctx.output().dtype
    _check(ctx, _MOST_EXPONENTIALS, 16 / 256, 1)
    scale = data.quantization[0]
    if scale <= 2.0**-26:
        raise QnnError(f"{data.label} has the scale {scale}, too small for TFLite")
    multiplier, shift = (
        int(part) for part in quantize_multiplier(min(scale * 2.0**26, 2.0**31 - 1))
    )
    radius = math.floor(31 * 2.0**26 / 2.0**shift)
    # There are 256 distances of 8-bit values: tables hold the parts that depend only on them.
    distances = np.minimum(np.arange(256), radius)
    scaled = multiply_by_quantized_multiplier(-distances, multiplier, shift)
    values = ctx.array(0)
    distance = values.max(-1, keepdims=True).astype("int32") - values.astype("int32")
    terms = take(sum_term(exp_table(scale, 1.0)).astype(np.int64), distance)
    logarithm = log(terms.sum(axis=-1, dtype="int64", keepdims=True))
    reverse, down = quantize_multiplier(2.0 ** (31 - shift) / multiplier)
    lowest = divided(product(logarithm - (1 << 31), int(reverse)), -int(down))
    nearest = take(scaled.astype(np.int64), distance)
    steps = divided(nearest - logarithm, 22)
    is_far = -distance.astype("int64") <= np.maximum(lowest, -radius - 1)
    low, _ = dtype_range(dtype)
    return saturated(np.where(is_far, low, steps + _POINTS[dtype][1]), dtype)


def _check(ctx: Context, most: int, scale: float, end: int) -> None:
    """Raise for long rows, and unless the result has the scale and zero point of TFLite."""
    data = ctx.input(0)
    if not data.shape or data.shape[-1] > most:
        raise UnsupportedError(f"rows of {data.label}, of shape {data.shape}")
    result, needed = ctx.output(), (scale, _POINTS[ctx.common_dtype()][end])
    if per_tensor(result) != needed:
        raise QnnError(f"{result.label} must have scale and zero point {needed}")


OPERATORS.update(
    {
        "L2_NORMALIZATION": Row(
            quantized=convert_quantized_l2_normalization,
            floats=convert_l2_normalization,
            unscaled=of_zero("int8", "uint8"),
        ),
        "LOG_SOFTMAX": Row(
            quantized=convert_quantized_log_softmax,
            floats=convert_float_log_softmax,
            micro=COMPUTED,
        ),
        "SOFTMAX": Row(
            scaled=convert_softmax,
            floats=convert_float_softmax,
            unscaled=of_zero("int16"),
            micro=COMPUTED,
            widens=True,
        ),
    }
)
