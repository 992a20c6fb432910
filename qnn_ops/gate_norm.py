"""The normalization of an LSTM's gates, in fixed point.

Source: ApplyLayerNorm of TFLite's kernels/internal/reference/portable_tensor_utils.cc.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic import (
    Int64Array,
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from qnn_ops.inverse_sqrt import inverse_sqrt_multiplier

Array = npt.NDArray[Any]

MOST_SCALE = 2.0**18
"""The scale of the weights lies below."""
NORM_BITS = 10
"""Bits below the point of a normalized value."""
GATE_FRACTION_BITS = 12
"""Bits below the point of a gate."""
VARIANCE_BITS = 20


def norm_multiplier(scale: float) -> tuple[int, int]:
    """Return multiplier and shift that turn the last product into Q3.12."""
    multiplier, shift = quantize_multiplier(float(np.float32(scale)))
    return int(multiplier), int(shift) + GATE_FRACTION_BITS


def variance_guard(scale: float) -> int:
    """Return what stands for a variance below 1."""
    return max(1, int(np.float32(10000) * np.float32(scale)))


def normalized(values: Array, weights: Array, bias: Array, scale: float) -> Int64Array:
    """Bring each row to a mean of 0 and a variance of 1, weigh it and add the bias.

    The mean is truncated to 1/1024, the variance to a whole number, of a sum that is multiplied by
    2^20 / columns, truncated. What is weighed wraps in int32.

    Args:
        values: int64 that int16 holds, [rows, columns].
        weights: int16, [columns].
        bias: int32, [columns], in steps of 1/1024 of the weights' scale.
        scale: of the weights.

    Returns:
        Q3.12, saturated to int16.
    """
    columns = values.shape[1]
    mean = _truncated(values.sum(axis=1, keepdims=True) << NORM_BITS, columns)
    squares = (values * values).sum(axis=1, keepdims=True)
    variance = squares * ((1 << VARIANCE_BITS) // columns) - mean * mean
    whole = _truncated(variance, 1 << VARIANCE_BITS)
    whole = np.where(whole < 1, variance_guard(scale), whole)
    multiplier, right = inverse_sqrt_multiplier(whole)
    distance = (values << NORM_BITS) - mean
    unit = multiply_by_quantized_multiplier(distance, multiplier, -right).astype(np.int64)
    weighed = (unit * weights + bias).astype(np.int32).astype(np.int64)
    half = np.where(weighed > 0, 1 << (NORM_BITS - 1), -(1 << (NORM_BITS - 1)))
    steps = _truncated(weighed + half, 1 << NORM_BITS)
    return clamp_to(
        multiply_by_quantized_multiplier(steps, *norm_multiplier(scale)), "int16"
    ).astype(np.int64)


def _truncated(x: Int64Array, divisor: int) -> Int64Array:
    """Divide as C does, towards zero."""
    return np.sign(x) * (np.abs(x) // divisor)
