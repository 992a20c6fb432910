"""The scaling of sums that are 64 bits wide, in numpy; as ``arithmetic`` has it for int32."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic import Int32Array, Int64Array, round_half_away
from qnn_ops.errors import QnnError

MOST_SHIFT = 14
"""The largest shift to the left of a wide sum."""

_INT32 = np.iinfo(np.int32)


def reduced_multiplier(multiplier: npt.ArrayLike) -> Int64Array:
    """Round a Q31 multiplier to Q15; 1 is 2^15 - 1."""
    return np.minimum((np.asarray(multiplier, np.int64) + (1 << 15)) >> 16, 0x7FFF)


def multiply_by_reduced_multiplier(
    x: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike
) -> Int32Array:
    """Compute x · multiplier / 2^31 · 2^shift with 15 bits of the multiplier, rounded half up.

    Source: MultiplyByQuantizedMultiplier of TFLite's kernels/internal/common.cc, for int64. A
    result beyond int32 wraps modulo 2^32, as that code's conversion does.

    Args:
        x: integers below 2^47 in magnitude, any shape.
        multiplier: int32, from ``quantize_multiplier``; broadcast with ``x``.
        shift: in -31..14, positive to the left; broadcast with ``x``.

    Returns:
        int32, the broadcast shape.

    Raises:
        QnnError: if a shift is larger.
    """
    total = 15 - np.asarray(shift, np.int64)
    if (total < 15 - MOST_SHIFT).any():
        raise QnnError(f"shift must be at most {MOST_SHIFT}, got {np.max(shift)}")
    product = np.asarray(x, np.int64) * reduced_multiplier(multiplier)
    return np.asarray((product + (np.int64(1) << (total - 1))) >> total).astype(np.int32)


def requantize_wide_float64(x: npt.ArrayLike, scale: npt.ArrayLike) -> Int32Array:
    """Compute float64(x) · scale of 64-bit sums, rounded half away from zero, within int32.

    Source: FullyConnected of LiteRT's kernels/internal/reference/integer_ops/fully_connected.h.

    Args:
        x: integers below 2^53 in magnitude, any shape.
        scale: float64 multipliers, finite; broadcast with ``x``.
    """
    product = np.asarray(x, np.float64) * np.asarray(scale, np.float64)
    return round_half_away(np.clip(product, _INT32.min, _INT32.max)).astype(np.int32)
