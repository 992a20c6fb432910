"""The tables of ``quantized_lookup``: a result for each value of a dtype, the lowest value first.

Every function here takes the quantization of input and output. If TFLite ends a run with an error,
such as for the root of a negative number, the entry of 8 bits is that of 0.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from qnn_ops.arithmetic.accumulator_bounds import Bounds, check_scaled
from qnn_ops.arithmetic.c_functions import by_c
from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    divide_by_pot_int16,
    float32_quotient,
    high_mul_int16,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
    saturate_int16,
)
from qnn_ops.arithmetic.inverse_sqrt import inverse_sqrt_multiplier
from qnn_ops.arrays import Array, Float32Array, Int64Array
from qnn_ops.dialect.attributes import ACTIVATIONS, dtype_range
from qnn_ops.dialect.checks import check_dtype, check_quantization
from qnn_ops.errors import QnnError
from qnn_ops.tables.tables_int16 import (
    interpolated,
    logistic_table_int16,
    samples,
    tanh_table_int16,
)

_INT16 = np.iinfo(np.int16)
_RSQRT_SHIFT = 20
_HALF_SQRT = np.float32(-math.sqrt(0.5))
_SQRT_2_BY_PI = np.float32(math.sqrt(2 / math.pi))


class Ends(NamedTuple):
    """The quantization of a table's input and output.

    Attributes:
        input_scale: real value of one step of the input.
        input_zero_point: the input's value that means 0.
        output_scale: real value of one step of the output.
        output_zero_point: the output's value that means 0.
        dtype: of both: int8, uint8 or, with zero points of 0, int16.
    """

    input_scale: float
    input_zero_point: int
    output_scale: float
    output_zero_point: int
    dtype: str


def unary_table(function: Callable[[Float32Array], Array], ends: Ends) -> Array:
    """Tabulate a real function: clamp(round(function(real) / output_scale) + zero_point).

    Computed in float32, with the reciprocal of the output scale, ties away from zero. NaN gives the
    zero point. A table of int16 has lines between 513 samples (qnn_ops.tables.tables_int16).
    Source: the lookup tables of TFLite's kernels/internal/common.h (LUTPopulate).

    Args:
        function: takes real inputs, float32; gives as many results.
        ends: the quantization of input and output.

    Returns:
        [256] of ``dtype``; [65536] for int16.

    Raises:
        QnnError: if the dtype or a quantization does not fit.
    """
    centred = centred_inputs(ends)
    if ends.dtype == "int16":
        return interpolated(samples(function, ends.input_scale, 0, ends.output_scale))
    with np.errstate(all="ignore"):
        real = np.float32(ends.input_scale) * centred.astype(np.float32)
        inverse = np.float32(1) / np.float32(ends.output_scale)
        steps = round_half_away(np.asarray(function(real), np.float32) * inverse)
    # Far outside every 8-bit dtype, and still an exact int64.
    integers = np.clip(np.nan_to_num(steps), -(2.0**40), 2.0**40).astype(np.int64)
    return clamp_to(integers + ends.output_zero_point, ends.dtype)


def logistic_table(ends: Ends) -> Array:
    """Return the table of 1 / (1 + exp(-x)); arguments, result and errors as ``unary_table``.

    TFLite's LOGISTIC has output scale 1 / 256, for int16 2^-15.
    """
    if ends.dtype == "int16":
        return _sigmoid_int16(logistic_table_int16, ends)

    def logistic(x: Float32Array) -> Float32Array:
        # C's expf is exp rounded to float32 (to within 0.51 of its last digit).
        power = np.exp(-x.astype(np.float64)).astype(np.float32)
        return np.float32(1) / (np.float32(1) + power)

    return unary_table(logistic, ends)


def tanh_table(ends: Ends) -> Array:
    """Return the table of tanh; arguments, result and errors as ``unary_table``.

    LiteRT calls the C library's tanhf. In older libraries its error is larger than rounding, which
    decides one entry in some ten thousand tables. So this calls tanhf, too, if the system has one.
    """
    if ends.dtype == "int16":
        return _sigmoid_int16(tanh_table_int16, ends)
    return unary_table(partial(by_c, "tanhf", np.tanh), ends)


def _sigmoid_int16(table_of: Callable[[float, float], Array], ends: Ends) -> Array:
    centred_inputs(ends)
    return table_of(ends.input_scale, ends.output_scale)


def leaky_relu_table(alpha: float, ends: Ends) -> Array:
    """Return the table of x from 0 on and alpha * x below; result and errors as ``unary_table``.

    Source: TFLite's LEAKY_RELU (kernels/internal/reference/leaky_relu.h): gemmlowp's two
    roundings with a multiplier for each sign, computed in float32.

    Args:
        alpha: the slope below 0; taken as float32.
        ends: the quantization of input and output.

    Raises:
        QnnError: also if the scales are so far apart that the framework's int32 overflows.
    """
    centred = centred_inputs(ends)
    factor = float32_quotient((ends.input_scale,), ends.output_scale)
    slope = float32_quotient((ends.input_scale, alpha), ends.output_scale)
    lowest, highest = centred[[0, -1]]
    check_scaled(Bounds.of(0, highest), factor, "tflite", ends.output_zero_point)
    check_scaled(Bounds.of(lowest, 0), abs(slope), "tflite", ends.output_zero_point)
    above = multiply_by_quantized_multiplier(centred, *quantize_multiplier(factor))
    # A negative slope's sign is applied after the rounding, not before.
    below = multiply_by_quantized_multiplier(centred, *quantize_multiplier(abs(slope)))
    signed = np.where(centred >= 0, above, np.copysign(1, slope).astype(np.int64) * below)
    return clamp_to(signed + ends.output_zero_point, ends.dtype)


def hard_swish_table(ends: Ends) -> Array:
    """Return the table of x * min(max(x + 3, 0), 6) / 6; arguments and result as ``unary_table``.

    Source: TFLite's HARD_SWISH (kernels/internal/reference/hard_swish.h): 16-bit fixed point.
    The input has 128 times its resolution. "reluish" is the factor min(max(x + 3, 0), 6) / 6 as a
    Q15 number.

    Raises:
        QnnError: if the dtype or a quantization does not fit, or the arithmetic has no room: the
            input scale is 128 times the output's or more, or beyond 2.5e7.
    """
    centred = centred_inputs(ends)
    fine_scale = np.float32(1 / 128) * np.float32(ends.input_scale)
    output_multiplier, output_shift = _int16_multiplier(fine_scale / np.float32(ends.output_scale))
    if output_shift > 0:
        raise QnnError(
            f"the table of hard_swish needs input_scale < 128 * output_scale, "
            f"got {ends.input_scale} and {ends.output_scale}"
        )
    # The real number 3 is 1 in the factor's scale.
    multiplier, shift = _int16_multiplier(fine_scale / np.float32(3 / 32768))
    if shift > 31:
        raise QnnError(f"the table of hard_swish needs input_scale < 2.5e7, got {ends.input_scale}")
    fine = centred * 128
    reluish = fine
    if shift > 0:
        # Shift by all bits but the last, whose saturation changes the result.
        reluish = saturate_int16(reluish << (shift - 1))
    reluish = high_mul_int16(reluish, multiplier)
    if shift > 0:
        reluish = saturate_int16(reluish << 1)
    elif shift < 0:
        reluish = divide_by_pot_int16(reluish, -shift)
    reluish = (reluish + (1 << 15)) >> 1
    product = reluish * high_mul_int16(fine, output_multiplier)
    truncated = np.sign(product) * (np.abs(product) >> 15)
    steps = divide_by_pot_int16(truncated, -output_shift)
    return clamp_to(steps + ends.output_zero_point, ends.dtype)


def absolute_table(ends: Ends) -> Array:
    """Return the table of abs: gemmlowp's two roundings, or none where the scales are the same.

    Source: AbsEvalQuantized of TFLite's kernels/elementwise.cc.
    """
    centred = centred_inputs(ends)
    values = np.abs(centred)
    factor = float32_quotient((ends.input_scale,), ends.output_scale)
    if factor != 1:
        check_scaled(Bounds.of(0, values.max()), factor, "tflite", ends.output_zero_point)
        values = multiply_by_quantized_multiplier(values, *quantize_multiplier(factor))
    return clamp_to(values.astype(np.int64) + ends.output_zero_point, ends.dtype)


def negative_table(dtype: str) -> Array:
    """Return the table of the negated integers, whatever they mean; the lowest one stays.

    Source: Negate of TFLite's kernels/internal/reference/neg.h, which ignores zero points.
    """
    lowest, highest = dtype_range(dtype)
    return np.negative(np.arange(lowest, highest + 1)).astype(dtype)


def sqrt_table(ends: Ends) -> Array:
    """Return the table of the square root, in float32 and rounded down.

    Source: SqrtEvalQuantized of TFLite's kernels/elementwise.cc.
    """
    centred = centred_inputs(ends)
    with np.errstate(all="ignore"):
        real = np.float32(ends.input_scale) * np.maximum(centred, 0).astype(np.float32)
        steps = np.trunc(np.sqrt(real) / np.float32(ends.output_scale))
    integers = np.minimum(steps, np.float32(2.0**30)).astype(np.int64)
    return clamp_to(integers + ends.output_zero_point, ends.dtype)


def rsqrt_table(ends: Ends) -> Array:
    """Return the table of 1 / sqrt(x): Newton's iteration in fixed point; 0 gives the highest.

    A table of int16 is that of a real function, with the highest result below 0, too. Source:
    RsqrtEvalQuantizedInt8 of TFLite's kernels/elementwise.cc.

    Raises:
        QnnError: also if the scales are so far apart that the framework's shifts leave their range.
    """
    centred, highest = centred_inputs(ends), dtype_range(ends.dtype)[1]
    if ends.dtype == "int16":
        end = np.float32(highest) * np.float32(ends.output_scale)
        return unary_table(
            lambda x: np.where(x <= 0, end, np.float32(1) / np.sqrt(np.maximum(x, 0))), ends
        )
    # In double, of a float32 root and a float32 product.
    root = np.sqrt(np.float32(ends.input_scale)) * np.float32(ends.output_scale)
    multiplier, shift = quantize_multiplier(1.0 / float(root))
    if not -31 <= int(shift) - _RSQRT_SHIFT <= 11:
        raise QnnError(
            f"the table of rsqrt needs scales that go together, got {ends.input_scale:.4g} and "
            f"{ends.output_scale:.4g}"
        )
    values = np.maximum(centred, 1)
    inverse, down = inverse_sqrt_multiplier(values)
    data = multiply_by_quantized_multiplier(np.ones_like(values), inverse, _RSQRT_SHIFT - down)
    scaled = multiply_by_quantized_multiplier(data, multiplier, int(shift) - _RSQRT_SHIFT)
    table = clamp_to(scaled.astype(np.int64) + ends.output_zero_point, ends.dtype)
    return np.where(centred <= 0, highest, table).astype(ends.dtype)


def log_table(ends: Ends) -> Array:
    """Return the table of the natural logarithm; what has none gives the lowest.

    Source: LogLUTPrepare of TFLite's kernels/elementwise.cc.
    """
    steps = np.float32(dtype_range(ends.dtype)[0] - ends.output_zero_point)
    lowest = steps * np.float32(ends.output_scale)

    def log(x: Float32Array) -> Array:
        return np.where(x > 0, by_c("logf", np.log, np.maximum(x, np.float32(1e-45))), lowest)

    return unary_table(log, ends)


def elu_table(ends: Ends) -> Array:
    """Return the table of x from 0 on and exp(x) - 1 below.

    Source: EluPrepare of TFLite's kernels/activations.cc.
    """

    def elu(x: Float32Array) -> Array:
        return np.where(x < 0, by_c("expm1f", np.expm1, np.minimum(x, 0)), x)

    return unary_table(elu, ends)


def gelu_table(approximate: bool, ends: Ends) -> Array:
    """Return the table of x times the normal distribution at x, or of its approximation by tanh.

    Source: GeluTransform and GeluTransformApproximate of TFLite's
    kernels/internal/reference/gelu.h.
    """
    return unary_table(gelu_of(approximate), ends)


def gelu_of(approximate: bool) -> Callable[[Float32Array], Array]:
    """Return x times the normal distribution at x as a function, or its approximation by tanh."""
    return _gelu_by_tanh if approximate else _gelu


def _gelu(x: Float32Array) -> Array:
    return np.float32(0.5) * x * by_c("erfcf", np.vectorize(math.erfc), x * _HALF_SQRT)


def _gelu_by_tanh(x: Float32Array) -> Array:
    inner = _SQRT_2_BY_PI * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (np.float32(1) + by_c("tanhf", np.tanh, inner))


def centred_inputs(ends: Ends) -> Int64Array:
    """Return all inputs less their zero point, after checking the quantizations."""
    check_dtype("a table's dtype", ends.dtype, ACTIVATIONS)
    check_quantization("input", ends.input_scale, ends.input_zero_point, ends.dtype)
    check_quantization("output", ends.output_scale, ends.output_zero_point, ends.dtype)
    lowest, highest = dtype_range(ends.dtype)
    return np.arange(lowest, highest + 1, dtype=np.int64) - ends.input_zero_point


def _int16_multiplier(real: np.float32) -> tuple[int, int]:
    """Return a real multiplier as a Q15 integer and a power of two."""
    multiplier, shift = quantize_multiplier(float(real))
    return int(min((int(multiplier) + (1 << 15)) >> 16, _INT16.max)), int(shift)
