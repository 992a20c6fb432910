"""The fixed-point arithmetic of quantized inference, in numpy.

Everything here works element by element on arrays of any shape; multipliers and shifts broadcast
against the values, so one per channel is an array shaped like ``[1, 1, 1, C]``.

Integers behave as in the C++ of the frameworks: values are int32, products int64. Where that C++
leaves int32 without a check, the result wraps modulo 2^32; each docstring says where.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arrays import Array, Float64Array, Int32Array, Int64Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import finite, int32_values, integers, positive_float32, within
from qnn_ops.errors import QnnError

_INT32, _INT16 = np.iinfo(np.int32), np.iinfo(np.int16)


def round_half_away(x: Any) -> Any:
    """Round to the nearest integer, ties away from zero, as C's ``round``.

    Args:
        x: float32 or float64, any shape, or an expression; any other dtype is taken as float64.

    Returns:
        Values of the same shape and float dtype. Infinities and NaNs stay as they are.
    """
    values = x if hasattr(x, "astype") else np.asarray(x)
    if values.dtype != np.float32:
        values = values.astype(np.float64)
    whole = np.trunc(values)
    with np.errstate(invalid="ignore"):
        # The difference is exact. The value plus one half would not be.
        is_far = np.abs(values - whole) >= 0.5
        return whole + is_far.astype(values.dtype) * np.sign(values)


def is_number(x: Any) -> Any:
    """Tell which floats are not NaN: the conversion of NaN to an integer is undefined."""
    return x == x


def float32_quotient(factors: Sequence[float], *divisors: float) -> float:
    """Divide a product of numbers by a product of others; every step is rounded to float32."""
    above, below = (map(np.float32, numbers) for numbers in (factors, divisors))
    with np.errstate(all="ignore"):
        return float(reduce(np.multiply, above) / reduce(np.multiply, below))


def quantize_multiplier(real: npt.ArrayLike) -> tuple[Int32Array, Int32Array]:
    """Write real multipliers as Q31 integers and powers of two: real ~ q / 2^31 * 2^shift.

    Source: QuantizeMultiplier of TFLite's kernels/internal/quantization_util.cc.

    Args:
        real: float64, any shape; finite. A negative multiplier gives a negative q.

    Returns:
        (q, shift), int32 arrays of the shape of ``real`` (0-d for a scalar). abs(q) is in
        [2^30, 2^31), or q = shift = 0 where ``real`` is 0 or so small that shift < -31.
        A positive shift is a left shift.

    Raises:
        QnnError: if a multiplier is infinite or NaN.
    """
    fraction, exponent = np.frexp(finite("a real multiplier", real, np.float64))
    q = round_half_away(fraction * 2.0**31).astype(np.int64)
    is_one = np.abs(q) == 2**31
    q, shift = np.where(is_one, q // 2, q), exponent + is_one
    is_kept = shift >= -31
    return np.asarray(q * is_kept, np.int32), np.asarray(shift * is_kept, np.int32)


def saturating_rounding_doubling_high_mul(a: npt.ArrayLike, b: npt.ArrayLike) -> Int32Array:
    """Return the high half of 2·a·b, rounded half up: round(a·b / 2^31).

    Source: SaturatingRoundingDoublingHighMul of gemmlowp's fixedpoint/fixedpoint.h. Its nudge and
    truncating division equal this arithmetic shift. One product does not fit, that of a = b =
    -2^31; it gives 2^31 - 1.

    Args:
        a: integers within int32, any shape.
        b: integers within int32; broadcast with ``a``.

    Returns:
        int32, the broadcast shape.

    Raises:
        QnnError: if a value is not an integer within int32.
    """
    product = int32_values("a", a) * int32_values("b", b)
    high = (product + (1 << 30)) >> 31
    return np.asarray(np.minimum(high, _INT32.max), dtype=np.int32)


def rounding_divide_by_pot(x: npt.ArrayLike, exponent: npt.ArrayLike) -> Int32Array:
    """Compute x / 2^exponent, rounded to nearest, ties away from zero.

    Source: RoundingDivideByPOT of gemmlowp's fixedpoint/fixedpoint.h.

    Args:
        x: integers within int32, any shape.
        exponent: integers in 0..31; broadcast with ``x``.

    Returns:
        int32, the broadcast shape.

    Raises:
        QnnError: if a value is not an integer within int32, or an exponent is outside 0..31.
    """
    values = int32_values("x", x)
    exponents = within("exponent", exponent, 0, 31)
    mask = (np.int64(1) << exponents) - 1
    threshold = (mask >> 1) + (values < 0)
    return np.asarray((values >> exponents) + ((values & mask) > threshold), dtype=np.int32)


def multiply_by_quantized_multiplier(
    x: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike
) -> Int32Array:
    """Compute x · multiplier / 2^31 · 2^shift, rounded twice ("double").

    Source: MultiplyByQuantizedMultiplier of TFLite's kernels/internal/common.h, which is
    RDBPOT(SRDHM(x << max(shift, 0), multiplier), max(-shift, 0)). The left shift is an int32
    product there. It wraps modulo 2^32, here too.

    Args:
        x: integers within int32, any shape.
        multiplier: int32, from ``quantize_multiplier``; broadcast with ``x``.
        shift: in -31..31, positive to the left; broadcast with ``x``.

    Returns:
        int32, the broadcast shape.

    Raises:
        QnnError: if a value is not an integer within int32, or a shift is outside -31..31.
    """
    shifts = within("shift", shift, -31, 31)
    factor, values = int32_values("multiplier", multiplier), int32_values("x", x).astype(np.int32)
    # One product does not fit, as in saturating_rounding_doubling_high_mul.
    return np.minimum(scaled_twice(values, factor, shifts), _INT32.max).astype(np.int32)


def scaled_twice(x: Any, multiplier: Any, shift: Any) -> Any:
    """Compute ``multiply_by_quantized_multiplier`` of int32, without checks, as int64."""
    shifts = np.asarray(shift, np.int64)
    left, right = np.maximum(shifts, 0), np.maximum(-shifts, 0)
    if left.any():
        x = x << left.astype(np.int32)
    high = (x.astype(np.int64) * np.asarray(multiplier, np.int64) + (1 << 30)) >> 31
    if not right.any():
        return high
    # Half away from zero: a negative value rounds down at a tie, unless nothing is shifted out.
    half = (np.int64(1) << right) >> 1
    return (high + half + ((high >> 63) & np.where(right > 0, -1, 0))) >> right


def scaled_once(x: Any, multiplier: Any, shift: Any, bits: int) -> Any:
    """Compute x · multiplier / 2^bits · 2^shift, rounded once, half up, without checks.

    Source, for 31 bits: the single-rounding MultiplyByQuantizedMultiplier of TFLite's
    kernels/internal/common.h, (x·multiplier + 2^(30-shift)) >> (31-shift) in 64 bits. A result
    beyond int32 wraps modulo 2^32, as that code's cast does.
    """
    total = bits - np.asarray(shift, np.int64)
    product = x.astype(np.int64) * np.asarray(multiplier, np.int64)
    return ((product + (np.int64(1) << (total - 1))) >> total).astype(np.int32)


def scaled_float32(x: Any, scale: Any) -> Any:
    """Compute float32(x) · float32(scale), rounded half to even, as int64, without checks.

    XNNPACK, oneDNN and ONNX Runtime do this in place of fixed point. ``x`` beyond 2^24 is rounded
    to float32 first. A product beyond int32 saturates.
    """
    with np.errstate(over="ignore"):  # an infinite product saturates like any large one
        product = x.astype(np.float32) * np.asarray(scale, np.float32)
    # The bounds make the cast defined. float32 has no 2^31 - 1, so that bound comes after the cast.
    bounded = np.clip(np.rint(product), -(2.0**31), 2.0**31)
    return np.minimum(bounded.astype(np.int64), 2**31 - 1)


def requantize_float64(x: npt.ArrayLike, scale: npt.ArrayLike) -> Int32Array:
    """Compute float64(x) · scale, rounded half away from zero.

    Source: FullyConnected of LiteRT's kernels/internal/reference/integer_ops/fully_connected.h,
    which scales by a double. A product beyond int32 is undefined there; here it saturates.

    Args:
        x: integers within int32, any shape.
        scale: float64 multipliers, finite; broadcast with ``x``.

    Returns:
        int32, the broadcast shape.

    Raises:
        QnnError: if a value is not an integer within int32, or a scale is infinite or NaN.
    """
    values, factor = int32_values("x", x), finite("scale", scale, np.float64)
    return scaled_float64(values, factor).astype(np.int32)


def scaled_float64(x: Any, scale: Any) -> Any:
    """Compute ``requantize_float64`` without checks, as int64."""
    with np.errstate(over="ignore"):
        product = x.astype(np.float64) * np.asarray(scale, np.float64)
    # Saturate before rounding. This also keeps compilers from fusing the product and rounding's
    # first subtraction into one multiply-add.
    return round_half_away(np.clip(product, -(2.0**31), 2.0**31 - 1)).astype(np.int64)


def clamp_to(
    x: npt.ArrayLike, dtype: str, out_min: int | None = None, out_max: int | None = None
) -> Array:
    """Saturate integers to a dtype, or to a narrower range within it.

    Args:
        x: integers, any shape; wider than int32 is fine.
        dtype: int8, uint8, int16 or int32.
        out_min: lowest value of the result; default: the dtype's.
        out_max: highest value of the result; default: the dtype's.

    Returns:
        An array of ``dtype``, of the shape of ``x``.

    Raises:
        QnnError: if ``x`` is not integers, or the range is empty or not within ``dtype``.
    """
    values = integers("x", x)
    lowest, highest = dtype_range(dtype)
    low = lowest if out_min is None else int(out_min)
    high = highest if out_max is None else int(out_max)
    if not lowest <= low <= high <= highest:
        raise QnnError(f"a clamp range must be ordered and within {dtype}, got [{low}, {high}]")
    return np.asarray(np.clip(values, low, high), dtype=dtype)


def high_mul_int16(a: Array, b: Array | int) -> Int64Array:
    """Compute gemmlowp's SaturatingRoundingDoublingHighMul of int16."""
    return saturate_int16((a.astype(np.int64) * b + (1 << 14)) >> 15)


def divide_by_pot_int16(x: Int64Array, exponent: int) -> Int64Array:
    """Compute gemmlowp's RoundingDivideByPOT of int16. Its mask wraps to -1 from 2^16 on."""
    mask = (1 << exponent) - 1 if exponent < 16 else -1
    return np.asarray((x >> exponent) + ((x & mask) > (mask >> 1) + (x < 0)))


def saturate_int16(x: Array) -> Int64Array:
    """Clamp integers to the range of int16; the result is int64."""
    return np.clip(x.astype(np.int64), _INT16.min, _INT16.max)


def conv_multiplier(
    input_scale: npt.ArrayLike,
    kernel_scale: npt.ArrayLike,
    output_scale: npt.ArrayLike,
    kernel_dtype: str,
    rounding: str = "tflite",
) -> Float64Array:
    """Compute the output steps of one accumulator step of a convolution.

    TFLite computes it in two ways. With uint8 kernels the product of input and kernel scale is
    rounded to float32 first (GetQuantizedConvolutionMultipler of kernels/kernel_util.cc). With int8
    kernels it is a float64 product (PopulateConvolutionQuantizationParams).

    With rounding "float32" the product and then the quotient are rounded to float32, as in ONNX
    Runtime and XNNPACK.

    Args:
        input_scale: float32 scale of the input.
        kernel_scale: float32 scale of the kernel, or one per output channel.
        output_scale: float32 scale of the output.
        kernel_dtype: "uint8" or "int8".
        rounding: how the scaled sums round; see qnn_ops.arithmetic.rounding.

    Returns:
        float64, of the broadcast shape of the scales.

    Raises:
        QnnError: if a scale is not positive and finite, or the dtype is another one.
    """
    data = positive_float32("input_scale", input_scale)
    kernel = positive_float32("kernel_scale", kernel_scale)
    output = positive_float32("output_scale", output_scale)
    with np.errstate(over="ignore", under="ignore"):
        product = data * kernel
        if rounding == "float32":
            return np.asarray(product / output, dtype=np.float64)
    if kernel_dtype == "int8":
        exact = data.astype(np.float64) * kernel.astype(np.float64)
    elif kernel_dtype == "uint8":
        exact = product.astype(np.float64)
    else:
        raise QnnError(f"kernel_dtype must be uint8 or int8, got {kernel_dtype!r}")
    return np.asarray(exact / output.astype(np.float64))


MOST_REDUCED_SHIFT = 14
"""The largest left shift of ``multiply_by_reduced_multiplier``."""


def reduced_multiplier(multiplier: npt.ArrayLike) -> Int64Array:
    """Round a Q31 multiplier to Q15; 1 is 2^15 - 1."""
    return np.minimum((np.asarray(multiplier, np.int64) + (1 << 15)) >> 16, 0x7FFF)


def multiply_by_reduced_multiplier(x: Any, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Any:
    """Compute x · multiplier / 2^31 · 2^shift with 15 bits of the multiplier, rounded half up.

    Source: MultiplyByQuantizedMultiplier of TFLite's kernels/internal/common.cc, for int64. A
    result beyond int32 wraps modulo 2^32, as that code's conversion does.

    Args:
        x: integers below 2^47 in magnitude, any shape: an array or an expression.
        multiplier: int32, from ``quantize_multiplier``; broadcast with ``x``.
        shift: in -31..14, positive to the left; broadcast with ``x``.

    Returns:
        int32, the broadcast shape.

    Raises:
        QnnError: if a shift is larger.
    """
    if (np.asarray(shift) > MOST_REDUCED_SHIFT).any():
        raise QnnError(f"shift must be at most {MOST_REDUCED_SHIFT}, got {np.max(shift)}")
    return scaled_once(x, reduced_multiplier(multiplier), shift, 15)
