"""Tables of functions of two 8-bit values: [256, 256], by the first and then by the second."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic import (
    Int64Array,
    clamp_to,
    quantize_multiplier,
    saturating_rounding_doubling_high_mul,
)
from qnn_ops.attributes import dtype_range
from qnn_ops.errors import QnnError
from qnn_ops.softmax_arithmetic import reciprocal

Table = npt.NDArray[Any]

_LARGEST_SHIFT = 23  # with which no quotient of TFLite's is shifted to the left


def quotient_table(
    lhs: tuple[float, int],
    rhs: tuple[float, int],
    output: tuple[float, int],
    dtype: str,
    bounds: tuple[int, int],
) -> Table:
    """Return the table of quotients.

    Source: DivElementwise of TFLite's kernels/internal/reference/div.h. The divisor's reciprocal is
    Newton's, in fixed point; small dividends of results far too coarse for them are shifted by the
    last five bits of a count, as x86 processors do. Where the divisor is 0, for which TFLite ends
    a run with an error, the result is the zero point.

    Args:
        lhs: scale and zero point of the dividend.
        rhs: scale and zero point of the divisor.
        output: scale and zero point of the result.
        dtype: int8 or uint8, of all three.
        bounds: the lowest and the highest result.

    Raises:
        QnnError: if the scales are too far apart for the framework's shifts.
    """
    scales = [np.float32(scale) for scale, _ in (lhs, rhs, output)]
    with np.errstate(all="ignore"):
        real = float(scales[0] / (scales[1] * scales[2]))
    if not np.isfinite(real) or int(quantize_multiplier(real)[1]) > _LARGEST_SHIFT:
        raise QnnError(
            f"the scales do not go together: a step of the quotient is {real:.4g} steps of the "
            "output, too many for TFLite's shifts"
        )
    multiplier, shift = (int(part) for part in quantize_multiplier(real))
    lowest, highest = dtype_range(dtype)
    every = np.arange(lowest, highest + 1)
    dividend, divisor = np.broadcast_arrays((every - lhs[1])[:, None], (every - rhs[1])[None, :])
    sign, size = np.sign(divisor), np.maximum(np.abs(divisor), 1)
    dividend = dividend * sign
    # Q12.19 in place of integers: the fraction is the same.
    inverse, bits = reciprocal(size << 19)
    headroom = 31 - np.frexp(np.abs(dividend).astype(np.float64))[1]
    # Of -2^k all bits but the sign are 0: one more is free.
    headroom = headroom + ((dividend < 0) & (np.abs(dividend) & (np.abs(dividend) - 1) == 0))
    quotient = saturating_rounding_doubling_high_mul(dividend << headroom, inverse)
    scaled = saturating_rounding_doubling_high_mul(quotient, np.int64(multiplier))
    total = _divided(scaled.astype(np.int64), bits + headroom - shift)
    result = np.where(divisor == 0, 0, total) + output[1]
    return clamp_to(result, dtype, *bounds)


def _divided(x: Int64Array, exponent: Int64Array) -> Int64Array:
    """Divide by a power of two, half away from zero, as gemmlowp does on x86 beyond 2^31."""
    mask = np.where(exponent < 32, (np.int64(1) << np.minimum(exponent, 32)) - 1, -1)
    mask = mask.astype(np.int32).astype(np.int64)
    rest, threshold = x & mask, (mask >> 1) + (x < 0)
    return np.asarray((x >> (exponent & 31)) + (rest > threshold))
