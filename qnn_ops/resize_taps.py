"""The pixels and weights that make a pixel of a resized image, along one axis.

Source: the reference RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR of TFLite, whose positions are
float32 or, for bilinear int8, fixed point with 10 fraction bits. Positions are exact copies of that
arithmetic, rounding included: no other way to compute them picks the same pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.arithmetic import round_half_away

Array = np.ndarray[Any, Any]

FRACTION_BITS = 10
"""Of fixed-point positions and weights."""


@dataclass(frozen=True, eq=False)
class Taps:
    """Two source pixels of each output pixel along one axis, and how far it is between them.

    Attributes:
        lower: int64 [output size], the first pixel.
        upper: int64 [output size], the second one.
        distance: [output size], from the first pixel towards the second: float32, or fixed point
            with FRACTION_BITS in int64. It may lie outside [0, 1] where both are one pixel.
    """

    lower: Array
    upper: Array
    distance: Array


def nearest_pixels(
    size: int, out_size: int, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    """Find the source pixel nearest to each output pixel: int64 [out_size], in 0..size - 1."""
    scale = _float32_scale(size, out_size, align_corners)
    offset = np.float32(0.5 if half_pixel_centers else 0.0)
    position = (np.arange(out_size, dtype=np.float32) + offset) * scale
    pixels = round_half_away(position) if align_corners else np.floor(position)
    return np.clip(pixels.astype(np.int64), 0, size - 1)


def float32_taps(
    size: int, out_size: int, *, align_corners: bool, half_pixel_centers: bool
) -> Taps:
    """Return the taps of a bilinear interpolation in float32, which TFLite uses for uint8."""
    scale = _float32_scale(size, out_size, align_corners)
    position: np.ndarray[Any, Any] = np.arange(out_size, dtype=np.float32)
    half = np.float32(0.5)
    position = (position + half) * scale - half if half_pixel_centers else position * scale
    lower = np.clip(np.floor(position).astype(np.int64), 0, size - 1)
    upper = np.minimum(np.ceil(position).astype(np.int64), size - 1)
    return Taps(lower, upper, position - lower.astype(np.float32))


def fixed_point_taps(
    size: int, out_size: int, *, align_corners: bool, half_pixel_centers: bool
) -> Taps:
    """Return the taps of a bilinear interpolation in fixed point, which TFLite uses for int8.

    Where an output is so much larger that the rounding of its scale leads beyond the last pixel,
    TFLite reads what happens to lie there; these taps stay on the last pixel.
    """
    one = 1 << FRACTION_BITS
    last, out_last = (
        (size - 1, out_size - 1) if align_corners and out_size > 1 else (size, out_size)
    )
    scale = (one * last + out_last // 2) // out_last
    position = np.arange(out_size, dtype=np.int64) * scale
    if half_pixel_centers:
        position = position + scale // 2 - one // 2
    # C's division, which truncates: a negative position is above -1 and goes to pixel 0.
    lower = np.clip(position // one, 0, size - 1)
    upper = np.clip((position + one - 1) // one, 0, size - 1)
    return Taps(lower, upper, position - one * lower)


def _float32_scale(size: int, out_size: int, align_corners: bool) -> np.float32:
    if align_corners and out_size > 1:
        return np.float32(size - 1) / np.float32(out_size - 1)
    return np.float32(size) / np.float32(out_size)
