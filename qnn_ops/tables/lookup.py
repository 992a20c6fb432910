"""The tables of ``quantized_lookup``: 256 results, that of the lowest input value first.

Every function here takes the quantization of input and output, int8 or uint8.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from qnn_ops.arithmetic.accumulator_bounds import Bounds, check_scaled
from qnn_ops.arithmetic.c_functions import by_c
from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
)
from qnn_ops.arithmetic.fixed_point_int16 import divide_by_pot_int16, high_mul_int16, saturate_int16
from qnn_ops.arrays import Array, Float32Array, Int64Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import QUANTIZED, check_dtype, check_quantization
from qnn_ops.errors import QnnError

_INT16 = np.iinfo(np.int16)


class Ends(NamedTuple):
    """The quantization of a table's input and output.

    Attributes:
        input_scale: real value of one step of the input.
        input_zero_point: the input's value that means 0.
        output_scale: real value of one step of the output.
        output_zero_point: the output's value that means 0.
        dtype: of both, int8 or uint8.
    """

    input_scale: float
    input_zero_point: int
    output_scale: float
    output_zero_point: int
    dtype: str


def unary_table(function: Callable[[Float32Array], Array], ends: Ends) -> Array:
    """Tabulate a real function: clamp(round(function(real) / output_scale) + zero_point).

    Computed in float32, with the reciprocal of the output scale, ties away from zero. NaN gives the
    zero point. Source: the lookup tables of TFLite's kernels/internal/common.h (LUTPopulate).

    Args:
        function: takes the 256 real inputs, float32; gives as many results.
        ends: the quantization of input and output.

    Returns:
        [256] of ``dtype``.

    Raises:
        QnnError: if the dtype or a quantization does not fit.
    """
    centred = centred_inputs(ends)
    with np.errstate(all="ignore"):
        real = np.float32(ends.input_scale) * centred.astype(np.float32)
        inverse = np.float32(1) / np.float32(ends.output_scale)
        steps = round_half_away(np.asarray(function(real), np.float32) * inverse)
    # Far outside every 8-bit dtype, and still an exact int64.
    integers = np.clip(np.nan_to_num(steps), -(2.0**40), 2.0**40).astype(np.int64)
    return clamp_to(integers + ends.output_zero_point, ends.dtype)


def logistic_table(ends: Ends) -> Array:
    """Return the table of 1 / (1 + exp(-x)); arguments, result and errors as ``unary_table``.

    TFLite's LOGISTIC has output scale 1 / 256.
    """

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
    return unary_table(_tanh, ends)


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
    scale, step = np.float32(ends.input_scale), np.float32(ends.output_scale)
    with np.errstate(all="ignore"):
        factor = float(scale / step)
        slope = float(scale * np.float32(alpha) / step)
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


def centred_inputs(ends: Ends) -> Int64Array:
    """Return all 256 inputs less their zero point, after checking the quantizations."""
    check_dtype("a table's dtype", ends.dtype, QUANTIZED)
    check_quantization("input", ends.input_scale, ends.input_zero_point, ends.dtype)
    check_quantization("output", ends.output_scale, ends.output_zero_point, ends.dtype)
    lowest, highest = dtype_range(ends.dtype)
    return np.arange(lowest, highest + 1, dtype=np.int64) - ends.input_zero_point


def _tanh(x: Float32Array) -> Float32Array:
    return by_c("tanhf", np.tanh, x)


def _int16_multiplier(real: np.float32) -> tuple[int, int]:
    """Return a real multiplier as a Q15 integer and a power of two."""
    multiplier, shift = quantize_multiplier(float(real))
    return int(min((int(multiplier) + (1 << 15)) >> 16, _INT16.max)), int(shift)
