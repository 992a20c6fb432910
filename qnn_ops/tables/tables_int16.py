"""The tables of ``quantized_lookup`` for int16: 65536 results, that of the lowest value first.

TFLite keeps 513 samples of a function, 128 values of int16 apart, and interpolates linearly between
them. A softmax contains two such functions.

Every function here takes the scales of input and output; their zero points are 0.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.accumulator_bounds import Bounds, check_scaled
from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_half_away,
)
from qnn_ops.arrays import Array, Float32Array, Float64Array, Int16Array, Int64Array
from qnn_ops.dialect.checks import positive_float32
from qnn_ops.errors import QnnError
from qnn_ops.tables.unary_tables import gelu_of

EVERY_INT16 = np.arange(-(2**15), 2**15, dtype=np.int64)
"""All values of int16, the lowest first."""

_STEPS, _BITS = 512, 7
_LOW, _HIGH = -(2**15), 2**15 - 1


def samples(
    function: Callable[[npt.NDArray[np.floating]], npt.NDArray[np.floating]],
    input_scale: float,
    input_zero_point: int,
    output_scale: float,
    real: type[np.floating] = np.float32,
) -> Int16Array:
    """Sample a real function; half of the line's error in the middle corrects each sample.

    Source: LUTPopulateInt16 of TFLite's kernels/internal/common.h.

    Args:
        function: takes real inputs, returns as many results.
        input_scale: real value of one step of the input.
        input_zero_point: the input's value that means 0.
        output_scale: real value of one step of the output, whose zero point is 0.
        real: the dtype of the computation.

    Returns:
        int16 [513].
    """
    scale, step_of_result = real(input_scale), real(output_scale)
    first, last = scale * real(_LOW - input_zero_point), scale * real(_HIGH - input_zero_point)
    step = (last - first) / real(_STEPS)
    inverse = real(2**16) / (step_of_result * real(_HIGH) - step_of_result * real(_LOW))
    indices = np.arange(_STEPS + 1).astype(real)
    with np.errstate(all="ignore"):
        values = np.asarray(function(first + indices * step), real)
        middles = np.asarray(function(first + indices[:-1] * step + step / real(2)), real)
        end = np.asarray(function(np.array([last], real)), real)
        steps = round_half_away(values[:-1] * inverse)
        lines = round_half_away((values[1:] * inverse + steps) / real(2))
        errors = lines - round_half_away(middles * inverse)
        adjusted = steps - round_half_away(errors / real(2))
        chosen = np.append(adjusted, round_half_away(end * inverse))
    # NaN, which occurs beside an infinite sample, becomes 0 in LiteRT's build for x86.
    inside = np.clip(np.nan_to_num(chosen, nan=0.0), real(_LOW), real(_HIGH))
    return inside.astype(np.int16)


def interpolated(table: Int16Array) -> Int16Array:
    """Interpolate the result of every int16 between samples, that of the lowest first.

    Source: LUTLookup of TFLite's kernels/internal/common.h.

    Args:
        table: int16 [513].

    Returns:
        int16 [65536].
    """
    indices = (EVERY_INT16 >> _BITS) + _STEPS // 2
    offsets = EVERY_INT16 & ((1 << _BITS) - 1)
    slopes = (table[1:].astype(np.int64) - table[:-1]).astype(np.int16).astype(np.int64)
    rise = (slopes[indices] * offsets + (1 << (_BITS - 1))) >> _BITS
    return (table[indices] + rise).astype(np.int16)


# TFLite's samples of the logistic function start at 0, 24 a unit; this is the last one.
_SIGMOIDS = 256


def unary_table_int16(
    function: Callable[[Float32Array], Array], input_scale: float, output_scale: float
) -> Int16Array:
    """Tabulate a real function as TFLite does: by lines between 513 samples.

    Args:
        function: takes real inputs, float32; returns as many results.
        input_scale: real value of one step of the input.
        output_scale: real value of one step of the output.

    Raises:
        QnnError: if a scale is not positive and finite.
    """
    _check_scales(input_scale, output_scale)
    return interpolated(samples(function, input_scale, 0, output_scale))


def exp_table_int16(input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of exp(x).

    Raises:
        QnnError: if a scale is not positive and finite.
    """
    # C's expf is exp rounded to float32 (to within 0.51 of its last digit).
    return unary_table_int16(
        lambda x: np.exp(x.astype(np.float64)).astype(np.float32), input_scale, output_scale
    )


def gelu_table_int16(approximate: bool, input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of x times the normal distribution at x, or of its approximation by tanh.

    Raises:
        QnnError: if a scale is not positive and finite.
    """
    return unary_table_int16(gelu_of(approximate), input_scale, output_scale)


def rsqrt_table_int16(input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of 1 / sqrt(x); the highest result for 0, and below, where TFLite has none.

    Raises:
        QnnError: if a scale is not positive and finite.
    """

    def rsqrt(x: Float32Array) -> Float32Array:
        highest = np.float32(2**15 - 1) * np.float32(output_scale)
        root = np.sqrt(np.maximum(x, np.float32(0)))
        return np.where(x <= 0, highest, np.float32(1) / root).astype(np.float32)

    return unary_table_int16(rsqrt, input_scale, output_scale)


def log_table_int16(input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of log(x); the lowest result for 0 and below.

    Raises:
        QnnError: if a scale is not positive and finite.
    """

    def log(x: Float32Array) -> Float32Array:
        lowest = np.float32(-(2**15)) * np.float32(output_scale)
        real = np.log(np.maximum(x, np.float32(1e-45)).astype(np.float64)).astype(np.float32)
        return np.where(x <= 0, lowest, real).astype(np.float32)

    return unary_table_int16(log, input_scale, output_scale)


def sqrt_table_int16(input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of sqrt(x), rounded towards zero; 0 below 0, where TFLite has none.

    Source: SqrtEvalQuantized of TFLite's kernels/elementwise.cc.

    Raises:
        QnnError: if a scale is not positive and finite.
    """
    _check_scales(input_scale, output_scale)
    real = np.float32(input_scale) * np.maximum(EVERY_INT16, 0).astype(np.float32)
    steps = np.trunc(np.sqrt(real) / np.float32(output_scale))
    return np.clip(steps, 0, 2**15 - 1).astype(np.int16)


def abs_table_int16(input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of absolute values, rounded as gemmlowp does.

    Source: AbsEvalQuantized of TFLite's kernels/elementwise.cc.

    Raises:
        QnnError: if a scale is not positive and finite, or the framework's int32 overflows.
    """
    _check_scales(input_scale, output_scale)
    values = np.abs(EVERY_INT16)
    if np.float32(input_scale) == np.float32(output_scale):
        return clamp_to(values, "int16")
    with np.errstate(all="ignore"):
        factor = float(np.float32(input_scale) / np.float32(output_scale))
    check_scaled(Bounds.of(0, 2**15), factor, "tflite", 0)
    return clamp_to(multiply_by_quantized_multiplier(values, *quantize_multiplier(factor)), "int16")


def leaky_relu_table_int16(alpha: float, input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of x from 0 on and alpha * x below, rounded as gemmlowp does.

    Source: TFLite's LEAKY_RELU (kernels/internal/reference/leaky_relu.h), as for 8 bits.

    Args:
        alpha: the slope below 0; taken as float32.
        input_scale: real value of one step of the input.
        output_scale: real value of one step of the output.

    Raises:
        QnnError: if a scale is not positive and finite, or the framework's int32 overflows.
    """
    _check_scales(input_scale, output_scale)
    scale, step = np.float32(input_scale), np.float32(output_scale)
    with np.errstate(all="ignore"):
        factor = float(scale / step)
        slope = float(scale * np.float32(alpha) / step)
    for real in (factor, abs(slope)):
        check_scaled(Bounds.of(-(2**15), 2**15), real, "tflite", 0)
    above = multiply_by_quantized_multiplier(EVERY_INT16, *quantize_multiplier(factor))
    below = multiply_by_quantized_multiplier(EVERY_INT16, *quantize_multiplier(abs(slope)))
    signed = np.copysign(1, slope).astype(np.int64) * below
    return clamp_to(np.where(EVERY_INT16 >= 0, above, signed).astype(np.int64), "int16")


def logistic_table_int16(input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of 1 / (1 + exp(-x)), whose output scale is 2^-15.

    Source: Logistic of TFLite's kernels/internal/reference/integer_ops/logistic.h. It takes the
    value in steps of 2^-12 / 3, and interpolates between samples of the function.

    Raises:
        QnnError: if a scale is not positive and finite, or the output's another one.
    """
    _check_scales(input_scale, output_scale)
    if output_scale != 2.0**-15:
        raise QnnError(f"logistic in int16 must have output scale 2^-15, got {output_scale}")
    fine = _fine_steps(input_scale, shifts=(0,))
    size = np.abs(fine)
    result = _between(size, 9)
    result = np.where(size >> 9 >= _SIGMOIDS - 1, 0x7FFF << 10, result)
    signed = np.where(fine >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1)
    return (signed >> 10).astype(np.int16)


def tanh_table_int16(input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of tanh(x), whose output scale is 2^-15 or nearly so.

    Source: Tanh of TFLite's kernels/internal/reference/integer_ops/tanh.h, which computes it from
    the logistic function of twice the value.

    Raises:
        QnnError: if a scale is not positive and finite, or the output's another one.
    """
    _check_scales(input_scale, output_scale)
    if power_of_two(output_scale) != -15:
        raise QnnError(f"tanh in int16 must have output scale 2^-15, got {output_scale}")
    fine = _fine_steps(input_scale, shifts=(0, 1))
    size = np.abs(fine)
    result = _between(size, 8)
    result = np.where(size >> 8 >= _SIGMOIDS - 1, 0xFFFF << 8, result)
    magnitude = result - (1 << 23)
    signed = np.where(fine >= 0, magnitude + (1 << 7), (1 << 7) - 1 - magnitude)
    return (signed >> 8).astype(np.int16)


def power_of_two(scale: float) -> int | None:
    """Return the exponent of a scale that TFLite takes for a power of two, otherwise None.

    Source: CheckedLog2 of TFLite's kernels/internal/quantization_util.cc, in float32.
    """
    one = np.float32(1)
    logarithm = np.float32(np.log(np.float64(np.float32(scale)))) * (one / np.float32(np.log(2.0)))
    whole = round_half_away(logarithm)
    return int(whole) if abs(logarithm - whole) < np.float32(1e-3) else None


def _fine_steps(input_scale: float, shifts: tuple[int, ...]) -> Int64Array:
    """Return every value in steps of 2^-12 / 3. Samples are 512 steps apart."""
    exponent = power_of_two(input_scale)
    if exponent is not None and 12 + exponent in shifts:
        return EVERY_INT16 * (3 << (12 + exponent))
    multiplier, shift = float(np.float32(input_scale)) * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        shift += 1
        multiplier *= 2.0
    half = 1 << (shift - 1) if shift else 0
    # int32 wraps if a step of the input is a thousand or more.
    product = (EVERY_INT16 * int(multiplier) + half).astype(np.int32)
    return product.astype(np.int64) >> shift


def _between(size: Int64Array, bits: int) -> Int64Array:
    """Return the logistic function of positive numbers, samples ``bits`` bits apart."""
    indices = np.minimum(size >> bits, _SIGMOIDS - 2)
    table = _sigmoids()
    rise = (size & ((1 << bits) - 1)) * (table[indices + 1] - table[indices])
    return (table[indices] << bits) + rise


def _sigmoids() -> Int64Array:
    """Sample the logistic function; each sample is corrected as those of ``samples``."""
    indices = np.arange(_SIGMOIDS + 1, dtype=np.float64)

    def value(at: Float64Array) -> Float64Array:
        return np.asarray(2.0**16 / (1.0 + np.exp(-at / 24)))

    values, middles = value(indices), value(indices[:-1] + 0.5)
    errors = (values[1:] + values[:-1]) / 2 - middles
    table = round_half_away(values[:-1] - errors / 2).astype(np.int64)
    table[-1] = 2**16 - 1
    return table


def _check_scales(input_scale: float, output_scale: float) -> None:
    positive_float32("input_scale", input_scale)
    positive_float32("output_scale", output_scale)
