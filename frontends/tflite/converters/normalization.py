"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION."""

from __future__ import annotations

import math

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context, per_tensor
from frontends.tflite.converters.fixed_point import FixedPoint, number, saturated
from frontends.tflite.converters.functions import of_zero
from frontends.tflite.converters.registry import COMPUTED, OPERATORS, Row
from frontends.tflite.options.values import SoftmaxOptions
from qnn_ops import quantized_softmax
from qnn_ops.arithmetic import multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.attributes import dtype_range
from qnn_ops.errors import QnnError
from qnn_ops.quantized_softmax import output_quantization
from qnn_ops.softmax_arithmetic import exp_table, sum_term


def convert_softmax(ctx: Context) -> relax.Expr:
    """Apply softmax along the last axis."""
    data, result = ctx.input(0), ctx.output()
    if 0 in data.shape:
        return R.zeros(data.shape, result.dtype)
    quantization = per_tensor(result)
    if result.dtype == "uint8" or data.tensor.dtype != result.dtype:  # LiteRT does not read it then
        quantization = output_quantization(data.tensor.dtype, result.dtype)
    return quantized_softmax(
        data.expr,
        *data.quantization,
        *quantization,
        result.dtype,
        beta=ctx.options(SoftmaxOptions).beta,
    )


def convert_float_softmax(ctx: Context) -> relax.Expr:
    """Apply softmax along the last axis; beta multiplies the distances from the largest."""
    beta = relax.const(ctx.options(SoftmaxOptions).beta, "float32")
    data = _rows(ctx)
    if 0 in ctx.input(0).shape:
        return R.zeros(ctx.input(0).shape, "float32")
    below = R.subtract(data, ctx.builder.emit(R.max(data, [-1], keepdims=True)))
    powers = ctx.builder.emit(R.exp(R.multiply(below, beta)))
    return R.divide(powers, ctx.builder.emit(R.sum(powers, [-1], keepdims=True)))


def convert_float_log_softmax(ctx: Context) -> relax.Expr:
    """Apply the logarithm of softmax along the last axis."""
    data = _rows(ctx)
    if 0 in ctx.input(0).shape:
        return R.zeros(ctx.input(0).shape, "float32")
    below = ctx.builder.emit(R.subtract(data, ctx.builder.emit(R.max(data, [-1], keepdims=True))))
    total = ctx.builder.emit(R.sum(R.exp(below), [-1], keepdims=True))
    return R.subtract(below, R.log(total))


def _rows(ctx: Context) -> relax.Expr:
    """Return the data.

    Raises:
        QnnError: they are a scalar, of which LiteRT gives what memory holds.
    """
    data = ctx.input(0)
    if not data.shape:
        raise QnnError(f"{data.tensor.label} is a scalar, which has no last axis")
    return data.expr


# Of so many the sum of squares, and that of exponentials in Q12.19, fit int32.
_MOST_SQUARES, _MOST_EXPONENTIALS = 33_025, 4_095
_POINTS = {"int8": (0, 127), "uint8": (128, 255)}


def convert_l2_normalization(ctx: Context) -> relax.Expr:
    """Divide x by its length along the last axis, which is taken to be at least 1e-6."""
    data = ctx.input(0).expr
    length = R.sqrt(R.sum(R.square(data), [-1], keepdims=True))
    return R.divide(data, R.maximum(length, relax.const(1e-6, "float32")))


def convert_quantized_l2_normalization(ctx: Context) -> relax.Expr:
    """Divide by the length along the last axis.

    Source: L2Normalization of TFLite's kernels/internal/reference: a Q31 multiplier by Newton's
    iteration; uint8 shifts by 7 bits before the product, and int8 after it.
    """
    data, dtype = ctx.input(0), ctx.output().dtype
    _check_result(ctx, 1 / 128, 0)
    if 0 in data.shape:
        return R.zeros(data.shape, dtype)
    if not data.shape or data.shape[-1] > _MOST_SQUARES:
        raise UnsupportedError(f"rows of {data.tensor.label}, of shape {data.shape}")
    of, emit = FixedPoint(ctx.builder), ctx.builder.emit
    point = data.quantization[1]
    values = emit(R.subtract(R.astype(data.expr, "int64"), number(point)))
    squares = emit(R.sum(emit(R.multiply(values, values)), [-1], keepdims=True))
    multiplier, shift = of.inverse_sqrt(squares)
    if dtype == "uint8":
        lifted = R.multiply(values, number(128))
        steps = of.divided(of.product(lifted, multiplier), shift)
    else:
        left = emit(R.maximum(R.subtract(number(7), shift), number(0)))
        right = emit(R.maximum(R.subtract(shift, number(7)), number(0)))
        steps = of.divided(of.product(R.left_shift(values, left), multiplier), right)
    return saturated(R.add(steps, number(_POINTS[dtype][0])), dtype)


def convert_quantized_log_softmax(ctx: Context) -> relax.Expr:
    """Take the logarithm of a softmax along the last axis.

    Source: LogSoftmax of TFLite's kernels/internal/reference, all in fixed point.
    """
    data, dtype = ctx.input(0), ctx.output().dtype
    _check_result(ctx, 16 / 256, 1)
    if 0 in data.shape:
        return R.zeros(data.shape, dtype)
    if not data.shape or data.shape[-1] > _MOST_EXPONENTIALS:
        raise UnsupportedError(f"rows of {data.tensor.label}, of shape {data.shape}")
    scale = data.quantization[0]
    if scale <= 2.0**-26:
        raise QnnError(f"{data.tensor.label} has the scale {scale}, too small for TFLite")
    multiplier, shift = (
        int(part) for part in quantize_multiplier(min(scale * 2.0**26, 2.0**31 - 1))
    )
    radius = math.floor(31 * 2.0**26 / 2.0**shift)
    # A distance of 8-bit values is one of 256: what depends on it alone is a table.
    distances = np.minimum(np.arange(256), radius)
    scaled = multiply_by_quantized_multiplier(-distances, multiplier, shift)
    of, emit = FixedPoint(ctx.builder), ctx.builder.emit
    largest = R.astype(R.max(data.expr, -1, keepdims=True), "int32")
    distance = emit(R.subtract(largest, R.astype(data.expr, "int32")))
    terms = emit(_taken(sum_term(exp_table(scale, 1.0)), distance))
    log = of.log(emit(R.sum(terms, [-1], keepdims=True)))
    reverse, down = quantize_multiplier(2.0 ** (31 - shift) / multiplier)
    lowest = of.product(emit(R.subtract(log, number(1 << 31))), number(int(reverse)))
    lowest = R.maximum(of.divided(lowest, number(-int(down))), number(-radius - 1))
    is_far = R.less_equal(R.negative(R.astype(distance, "int64")), lowest)
    steps = of.divided(R.subtract(_taken(scaled, distance), log), number(22))
    low, _ = dtype_range(dtype)
    steps = R.where(is_far, number(low), R.add(steps, number(_POINTS[dtype][1])))
    return saturated(emit(steps), dtype)


def _check_result(ctx: Context, scale: float, end: int) -> None:
    """Raise unless the result has the scale and zero point that TFLite asks for."""
    data, result = ctx.tensor(0), ctx.output()
    if data.dtype != result.dtype:
        raise UnsupportedError(f"from {data.dtype} to {result.dtype}")
    needed = scale, _POINTS[result.dtype][end]
    if per_tensor(result) != needed:
        raise QnnError(f"{result.label} must have scale and zero point {needed}")


def _taken(table: np.ndarray, distance: relax.Expr) -> relax.Expr:
    return R.take(relax.const(table.astype(np.int64), "int64"), distance, axis=0, mode="clip")


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
            quantized=convert_softmax,
            int16=convert_softmax,
            floats=convert_float_softmax,
            unscaled=of_zero("int16"),
            micro=COMPUTED,
            widens=True,
        ),
    }
)
