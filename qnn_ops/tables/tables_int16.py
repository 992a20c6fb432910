"""Functions of every int16 as TFLite interpolates them; the result of the lowest value comes first.

TFLite keeps 513 samples of a function, 128 values of int16 apart, and interpolates linearly between
them. A softmax contains two such functions. The logistic function and tanh have samples of their
own.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.fixed_point import round_half_away
from qnn_ops.arrays import Float64Array, Int16Array, Int64Array
from qnn_ops.errors import QnnError

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


def logistic_table_int16(input_scale: float, output_scale: float) -> Int16Array:
    """Return the table of 1 / (1 + exp(-x)), whose output scale is 2^-15.

    Source: Logistic of TFLite's kernels/internal/reference/integer_ops/logistic.h. It takes the
    value in steps of 2^-12 / 3, and interpolates between samples of the function.

    Raises:
        QnnError: if the output's scale is another one.
    """
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
        QnnError: if the output's scale is another one.
    """
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
