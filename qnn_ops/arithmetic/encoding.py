"""Chooses scales and zero points for ranges of real values, and quantizes arrays with them.

An encoding says which real number a quantized integer means: scale · (q - zero_point). Every
encoding made here represents zero exactly, because padding and relu need that.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.fixed_point import clamp_to, round_half_away
from qnn_ops.arrays import Array, Float32Array, Float64Array, Int64Array
from qnn_ops.dialect.attributes import dtype_range, per_axis
from qnn_ops.dialect.checks import check_axis, check_choice, check_dtype
from qnn_ops.errors import QnnError

# SNPE widens narrower ranges.
_SNPE_NARROWEST = 0.01


class Encoding(NamedTuple):
    """The meaning of a tensor's integers: scale · (q - zero_point).

    Attributes:
        scale: real value of one step; a float that holds a float32 value exactly.
        zero_point: the integer that means 0.
        dtype: int8, uint8 or int16.
    """

    scale: float
    zero_point: int
    dtype: str

    @property
    def real_range(self) -> tuple[float, float]:
        """The real values of the lowest and the highest integer."""
        low, high = dtype_range(self.dtype)
        return self.scale * (low - self.zero_point), self.scale * (high - self.zero_point)


class PerChannelEncoding(NamedTuple):
    """An ``Encoding`` with a scale and a zero point for every channel along ``axis``."""

    scale: list[float]
    zero_point: list[int]
    dtype: str
    axis: int


def tflite_asymmetric(low: float, high: float, dtype: str) -> Encoding:
    """Encode a range onto all integers of a dtype, as TFLite does.

    The range is widened to include 0. The zero point is computed from the end of the range that
    gives the smaller error, and nudged to the nearest integer. All of it is in float64. Source:
    ChooseQuantizationParams of TFLite's kernels/internal/quantization_util.h. The range [0, 0] gets
    scale 1; TFLite gives scale 0.

    Args:
        low: lowest real value.
        high: highest real value.
        dtype: int8, uint8 or int16.

    Returns:
        The encoding. Every value of the range comes back within half a step.

    Raises:
        QnnError: if the range is not finite, not ordered, or too narrow or wide for a float32
            scale, or the dtype is another one.
    """
    low, high = _checked_range(low, high)
    low, high = min(low, 0.0), max(high, 0.0)
    check_dtype("dtype", dtype, ("int8", "uint8", "int16"))
    lowest, highest = dtype_range(dtype)
    if low == high:
        return Encoding(1.0, 0, dtype)
    scale = (high - low) / (highest - lowest)
    stored = _float32_scale(scale, low, high)
    steps_below, steps_above = low / scale, high / scale
    if abs(lowest) + abs(steps_below) < abs(highest) + abs(steps_above):
        zero_point = lowest - steps_below
    else:
        zero_point = highest - steps_above
    nudged = int(round_half_away(np.clip(zero_point, lowest, highest)))
    return Encoding(stored, nudged, dtype)


def symmetric(max_abs: float, dtype: str, narrow_range: bool = True) -> Encoding:
    """Encode [-max_abs, max_abs] with zero point 0.

    Args:
        max_abs: largest magnitude of the real values. 0 gets scale 1.
        dtype: int8 or int16.
        narrow_range: leave the lowest integer unused, so that both ends are integers:
            scale = max_abs / 127 for int8. This is how TFLite encodes weights. Otherwise the
            range is spread over all integers, scale = max_abs / 127.5, and both ends lie half a
            step from one.

    Returns:
        The encoding. Every value of the range comes back within half a step.

    Raises:
        QnnError: if max_abs is negative, not finite, or too small or large for a float32 scale,
            or the dtype is another one.
    """
    if not (math.isfinite(max_abs) and max_abs >= 0):
        raise QnnError(f"max_abs must be finite and not negative, got {max_abs}")
    check_dtype("dtype", dtype, ("int8", "int16"))
    highest = dtype_range(dtype)[1]
    if max_abs == 0:
        return Encoding(1.0, 0, dtype)
    steps = highest if narrow_range else highest + 0.5
    return Encoding(_float32_scale(max_abs / steps, -max_abs, max_abs), 0, dtype)


def symmetric_per_channel(
    weights: npt.ArrayLike, axis: int, dtype: str = "int8"
) -> PerChannelEncoding:
    """Encode every channel of the weights by its own largest magnitude, in narrow range.

    Args:
        weights: real values, any shape of at least one dimension.
        axis: the axis of the channels.
        dtype: int8 or int16.

    Returns:
        The encoding. Its axis is counted from the front.

    Raises:
        QnnError: if a weight is not finite, or the axis or dtype does not fit.
    """
    values = np.asarray(weights, dtype=np.float64)
    axis = check_axis(axis, values.ndim)
    if not np.isfinite(values).all():
        raise QnnError(f"weights must be finite, got {values[~np.isfinite(values)][0]}")
    channels = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
    encodings = [symmetric(np.abs(channel).max(initial=0), dtype) for channel in channels]
    return PerChannelEncoding(
        [encoding.scale for encoding in encodings],
        [encoding.zero_point for encoding in encodings],
        dtype,
        axis,
    )


def snpe(low: float, high: float) -> Encoding:
    """Encode a range onto uint8, as Qualcomm's SNPE does.

    The range is widened to at least 0.01, then to include 0. If it has both signs, it is moved by
    less than a step, so that 0 falls on an integer. Source: the quantization rules of the SNPE
    documentation. To quantize with it, call ``quantize_array`` with rounding "half_up".

    Args:
        low: lowest real value.
        high: highest real value.

    Returns:
        The encoding. Every value of the range comes back within half a step.

    Raises:
        QnnError: if the range is not finite, not ordered or too wide for a float32 scale.
    """
    low, high = _checked_range(low, high)
    high = max(high, low + _SNPE_NARROWEST)
    low, high = min(low, 0.0), max(high, 0.0)
    scale = _float32_scale((high - low) / 255, low, high)
    # Compute the quotient first: for a symmetric range it is exactly a half, and must stay a tie.
    return Encoding(scale, int(round_half_away(-low / (high - low) * 255)), "uint8")


def quantize_array(
    values: npt.ArrayLike, encoding: Encoding | PerChannelEncoding, rounding: str = "half_away"
) -> Array:
    """Quantize real values: clamp(round(value / scale) + zero_point), divided in float32.

    Args:
        values: real values, taken as float32; any shape. Infinities saturate.
        encoding: for the whole array, or one per channel.
        rounding: how ties round: "half_away" from zero (TFLite), "half_even" (MXNet, ONNX Runtime)
            or "half_up" (SNPE).

    Returns:
        An array of the encoding's dtype, shaped as ``values``.

    Raises:
        QnnError: if a value is NaN, or the rounding or the number of channels does not fit.
    """
    check_choice("rounding", rounding, tuple(_ROUNDINGS))
    with np.errstate(over="ignore"):
        reals = np.asarray(values, dtype=np.float32)
    if np.isnan(reals).any():
        raise QnnError("values must be numbers to be quantized, got NaN")
    scale, zero_point = _along_axis(encoding, reals.shape)
    with np.errstate(over="ignore"):  # an infinite quotient saturates like any large one
        steps = np.asarray(_ROUNDINGS[rounding](reals / scale), dtype=np.float64)
    # This is far outside every dtype, yet an exact int64.
    integers = np.clip(steps, -(2.0**40), 2.0**40).astype(np.int64)
    return clamp_to(integers + zero_point, encoding.dtype)


def dequantize_array(quantized: Array, encoding: Encoding | PerChannelEncoding) -> Float32Array:
    """Return the real values of integers: scale · (q - zero_point), rounded to float32 once.

    Args:
        quantized: integers of the encoding's dtype, any shape.
        encoding: for the whole array, or one per channel.

    Returns:
        float32, shaped as ``quantized``.

    Raises:
        QnnError: if the dtype is not the encoding's, or the number of channels does not fit.
    """
    if quantized.dtype != encoding.dtype:
        raise QnnError(f"quantized must be {encoding.dtype} as its encoding, got {quantized.dtype}")
    scale, zero_point = _along_axis(encoding, quantized.shape)
    steps = quantized.astype(np.int64) - zero_point
    return np.asarray(steps * scale.astype(np.float64), dtype=np.float32)


def _half_up(x: Float32Array) -> Float64Array:
    # In float64, where adding a half to a float32 does not round.
    return np.asarray(np.floor(x.astype(np.float64) + 0.5))


_ROUNDINGS: dict[str, Callable[[Float32Array], Array]] = {
    "half_away": round_half_away,
    "half_even": np.rint,
    "half_up": _half_up,
}


def _along_axis(
    encoding: Encoding | PerChannelEncoding, shape: tuple[int, ...]
) -> tuple[Float32Array, Int64Array]:
    """Return scale and zero point, shaped to broadcast against an array of ``shape``."""
    axis = encoding.axis if isinstance(encoding, PerChannelEncoding) else 0
    if isinstance(encoding, PerChannelEncoding):
        channels = len(encoding.scale)
        if axis >= len(shape) or shape[axis] != channels:
            raise QnnError(f"an array must have {channels} channels at axis {axis}, got {shape}")
    scale = per_axis(encoding.scale, axis, len(shape)).astype(np.float32)
    return scale, per_axis(encoding.zero_point, axis, len(shape))


def _checked_range(low: float, high: float) -> tuple[float, float]:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise QnnError(f"a range must be finite, got [{low}, {high}]")
    if low > high:
        raise QnnError(f"a range must be ordered, got [{low}, {high}]")
    return float(low), float(high)


def _float32_scale(scale: float, low: float, high: float) -> float:
    """Return the scale as a float32; raise if it is not a normal one, since steps need that."""
    with np.errstate(over="ignore", under="ignore"):
        stored = np.float32(scale)
    if not (np.isfinite(stored) and stored >= np.finfo(np.float32).tiny):
        raise QnnError(f"the range [{low}, {high}] has no float32 scale: one step would be {scale}")
    return float(stored)
