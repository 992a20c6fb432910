"""The bounds of quantized operators' int32 sums, over all data.

The frameworks sum in int32 without checks: overflow in C++ is undefined, and no model was made for
a processor's answer to it. So importers compute the bounds here, with the model's own weights (each
operator has a rule for that). Bounds are computed in int64. The sums of LiteRT's convolutions and
dense layers are known to wrap, so they are only reported.

The bounds also hold for every partial sum, in any order of addition: the data's range contains its
zero point, so a term that is left out, or falls on padding, counts as a term of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.activations import activation_steps
from qnn_ops.arithmetic.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.arrays import Array, Float64Array, Int64Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.errors import QnnError

_LOWEST, _HIGHEST = dtype_range("int32")
_UNDEFINED = ": what the model's framework computes then is undefined"


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of integers.

    Attributes:
        low: int64, the lowest values: one, or one per channel.
        high: int64, the highest values: one, or one per channel.
    """

    low: Int64Array
    high: Int64Array

    @classmethod
    def of(cls, low: npt.ArrayLike, high: npt.ArrayLike) -> Bounds:
        """Return bounds of these values, one or one per channel."""
        low, high = (np.atleast_1d(np.asarray(end, np.int64)) for end in (low, high))
        return cls(low, high)

    def __add__(self, values: npt.ArrayLike) -> Bounds:
        """Return the bounds with ``values`` added, one or one per channel."""
        added = np.asarray(values, np.int64)
        return Bounds(self.low + added, self.high + added)

    def __mul__(self, other: Bounds) -> Bounds:
        """Return the bounds of the products of values within these and within other ones."""
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Bounds(np.minimum.reduce(ends), np.maximum.reduce(ends))


def centred_bounds(dtype: str, zero_point: int) -> Bounds:
    """Bound data of a dtype, less its zero point."""
    low, high = dtype_range(dtype)
    return Bounds.of(low - zero_point, high - zero_point)


def product_sums(signed: tuple[Int64Array, Int64Array], data: Bounds) -> Bounds:
    """Return the bounds of each channel's sum of products of data and weights.

    Args:
        signed: the ``signed_sums`` of each channel's weights.
        data: bounds of the data less its zero point; one value each.

    Returns:
        One bound per channel. Data at the ends of its range reaches it.
    """
    rise, fall = signed
    return Bounds(data.low * rise + data.high * fall, data.high * rise + data.low * fall)


def signed_sums(values: Array, axis: int | tuple[int, ...]) -> tuple[Int64Array, Int64Array]:
    """Return the sums of the values above 0 and of those below 0.

    Args:
        values: centred weights, integers of at least 16 bits.
        axis: what to sum over.
    """
    if isinstance(axis, int) and values.shape[axis] == 1:
        part = values.squeeze(axis).astype(np.int64)
        return np.maximum(part, 0), np.minimum(part, 0)
    # A sum of fewer than 2^16 int16 numbers is below 2^31, and int32 is several times faster.
    is_narrow = values.dtype == np.int16 and values[:1].size < 1 << 16
    dtype = np.int32 if is_narrow else np.int64
    total, size = (
        each.sum(axis=axis, dtype=dtype).astype(np.int64) for each in (values, abs(values))
    )
    return (total + size) >> 1, (total - size) >> 1


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of a convolution or dense layer. They are read only if their sizes do not decide.

    Attributes:
        channels: the number of sums.
        depth: the number of products of each sum.
        dtype: int8 or uint8.
        zero_point: one value, or one per channel.
        read: returns the weights, [channels, ...]; None if a run computes them.
    """

    channels: int
    depth: int
    dtype: str
    zero_point: npt.ArrayLike
    read: Callable[[], Array] | None

    @property
    def largest(self) -> int:
        """The largest magnitude of a weight of this dtype, less its zero point."""
        points = np.asarray(self.zero_point, np.int64)
        return max(int(np.abs(end - points).max()) for end in dtype_range(self.dtype))

    def sums(self, data: Bounds) -> Bounds:
        """Return the bounds of each channel's sum of products with data less its zero point."""
        if self.read is None:
            most = self.depth * self.largest * int(max(-data.low.min(), data.high.max()))
            return Bounds.of(-most, most)
        points = np.reshape(np.asarray(self.zero_point, np.int64), (-1, 1))
        weights = self.read().reshape(self.channels, self.depth).astype(np.int64)
        return product_sums(signed_sums(weights - points, 1), data)


def check_product_sums(
    weights: Weights,
    data: Bounds,
    bias: Array | None = None,
    scaling: Callable[[Bounds], None] | None = None,
    *,
    wraps: bool = False,
) -> str:
    """Raise if a convolution's or dense layer's sums can leave int32, with or without the bias.

    Sizes alone decide for nearly every layer. Weights are read only if a sum of the largest
    products could leave int32.

    Args:
        weights: the other factor.
        data: bounds of the data less its zero point.
        bias: int32 [channels], or None.
        scaling: raises if values within bounds cannot be scaled, as ``check_scaled`` does.
        wraps: whether sums that leave int32 are known to wrap; then they are no error.

    Returns:
        The first channel whose sum wraps, and how far the sum goes; empty if none does.

    Raises:
        QnnError: a sum can leave int32; the error names the channel and how far its sum goes.
    """
    most = weights.depth * weights.largest * int(max(-data.low.min(), data.high.max()))
    if bias is not None and bias.size:
        most += int(np.abs(bias.astype(np.int64)).max())
    try:
        _check_sums(Bounds.of(-most, most), None, scaling, wraps=False)
    except QnnError:
        return _check_sums(weights.sums(data), bias, scaling, wraps=wraps)
    return ""


def _check_sums(
    sums: Bounds, bias: Array | None, scaling: Callable[[Bounds], None] | None, *, wraps: bool
) -> str:
    leaves = _leaves_int32(sums, "")
    if bias is not None:
        sums = sums + bias
        leaves = leaves or _leaves_int32(sums, ", bias included,")
    if leaves and not wraps:
        raise QnnError(leaves + _UNDEFINED)
    if scaling is not None:
        # A sum that wraps may be any integer.
        outside = _is_outside(sums) if leaves else np.zeros(sums.low.shape, bool)
        low, high = np.where(outside, _LOWEST, sums.low), np.where(outside, _HIGHEST, sums.high)
        scaling(Bounds(low, high))
    return leaves


def check_int32(bounds: Bounds, how: str = "") -> None:
    """Raise unless int32 holds everything within the bounds.

    Args:
        bounds: bounds of an accumulator; one, or one per channel.
        how: what the error says was done to the accumulator.

    Raises:
        QnnError: int32 does not hold a bound; the error names the first such channel and its bound.
    """
    leaves = _leaves_int32(bounds, how)
    if leaves:
        raise QnnError(leaves + _UNDEFINED)


def _leaves_int32(bounds: Bounds, how: str) -> str:
    """Name the channel whose bounds int32 does not hold; empty if it holds all of them."""
    is_outside = _is_outside(bounds)
    if not is_outside.any():
        return ""
    channel = int(np.argmax(is_outside))
    high = int(bounds.high[channel])
    reached = high if high > _HIGHEST else int(bounds.low[channel])
    where = f" of output channel {channel}" if len(is_outside) > 1 else ""
    return f"the accumulator{where}{how} can reach {reached}, which int32 does not hold"


def _is_outside(bounds: Bounds) -> npt.NDArray[np.bool_]:
    return np.asarray((bounds.low < _LOWEST) | (bounds.high > _HIGHEST))


def check_scaled(
    bounds: Bounds, real_multiplier: npt.ArrayLike, rounding: str, zero_point: int
) -> None:
    """Raise if int32 does not hold the scaled values of integers within bounds.

    Args:
        bounds: bounds of the integers, one or one per channel; for "tflite" within int32.
        real_multiplier: float64, one or one per channel; positive.
        rounding: "tflite" (MultiplyByQuantizedMultiplier: shifts left first where the multiplier is
            1 or more, in int32) or "float64" (a product that is rounded to int32).
        zero_point: added to the result, in int32.

    Raises:
        QnnError: int32 does not hold a scaled value, or a multiplier is infinite or beyond 2^31.
    """
    multiplier = np.atleast_1d(np.asarray(real_multiplier, np.float64))
    is_small = np.abs(multiplier).max() <= 1 / 2 and abs(zero_point) < 1 << 30
    if is_small and not _is_outside(bounds).any():
        return  # half of an int32 and this zero point are within int32
    _SCALED[rounding](bounds, multiplier, zero_point)


def _check_fixed_point(bounds: Bounds, multiplier: Float64Array, zero_point: int) -> None:
    check_fixed_point(bounds, *quantize_multiplier(multiplier), zero_point)


def check_fixed_point(
    bounds: Bounds, multiplier: npt.ArrayLike, shift: npt.ArrayLike, zero_point: int
) -> None:
    """Check as ``check_scaled`` does, for a multiplier that is in fixed point already.

    Args:
        bounds: of the integers, within int32.
        multiplier: int32, one or one per channel.
        shift: to the left if positive; one, or one per channel.
        zero_point: added to the result.

    Raises:
        QnnError: int32 does not hold the result, or an intermediate value.
    """
    shifts = np.atleast_1d(np.asarray(shift, np.int64))
    if shifts.max() > 31:
        raise QnnError(f"the scales do not go together: a shift by {shifts.max()} bits is too far")
    leaves = lifted_beyond_int32(bounds, shifts)
    if leaves:
        raise QnnError(leaves + _UNDEFINED)
    # The result grows with the scaled integer, so the ends of the bounds give its ends.
    low, high = (
        multiply_by_quantized_multiplier(end, multiplier, shifts).astype(np.int64)
        for end in (bounds.low, bounds.high)
    )
    check_int32(Bounds(low, high) + zero_point, ", scaled,")


def lifted_beyond_int32(bounds: Bounds, shift: npt.ArrayLike) -> str:
    """Say how far integers go that are shifted left before scaling, if int32 cannot hold them.

    Args:
        bounds: of the integers, within int32.
        shift: at most 31, to the left if positive; one, or one per channel.

    Returns:
        The first such channel and its bound; empty if int32 holds all of them.
    """
    left = np.maximum(np.asarray(shift, np.int64), 0)
    lifted = Bounds(bounds.low << left, bounds.high << left)
    return _leaves_int32(lifted, f", shifted left by {left.max()} bits to be scaled,")


def check_activation(kind: str, scale: float, zero_point: int) -> None:
    """Raise if int32 does not hold the ends of an activation's range.

    Args:
        kind: "none", "relu", "relu6" or "relu_n1_to_1".
        scale: the result's scale.
        zero_point: the result's zero point.

    Raises:
        QnnError: int32 does not hold an end; otherwise as ``activation_steps`` raises.
    """
    ends = [end for end in activation_steps(kind, scale) if end is not None]
    if any(not _LOWEST <= zero_point + end <= _HIGHEST for end in ends):
        raise QnnError(f"scale {scale:.4g} is too small for {kind}: its range leaves int32")


def _check_float64(bounds: Bounds, multiplier: Float64Array, zero_point: int) -> None:
    with np.errstate(over="ignore"):
        ends = [bounds.low * multiplier, bounds.high * multiplier]
    # This is far beyond int32, and an exact int64.
    low, high = (np.rint(np.clip(end, -(2.0**60), 2.0**60)).astype(np.int64) for end in ends)
    check_int32(Bounds(low, high), ", scaled,")
    check_int32(Bounds(low, high) + zero_point, ", scaled,")


_SCALED: dict[str, Callable[[Bounds, Float64Array, int], None]] = {
    "tflite": _check_fixed_point,
    "float64": _check_float64,
}
