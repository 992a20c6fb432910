"""The arithmetic of a softmax of int16, in numpy.

Source: SoftmaxInt16 of TFLite's kernels/internal/reference/softmax.h, and what SoftmaxPrepare of
its kernels/activations.cc samples: exp within [-10, 0], and 1 / (1 + x) within [0, 1].
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic import (
    Int32Array,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
)
from qnn_ops.interpolated_tables import Int16Array, interpolated, samples

OUTPUT_SCALE_INT16 = 2.0**-15

_RANGE = 2**16 - 1


def exp_table_int16(input_scale: float, beta: float) -> Int32Array:
    """Return the exponentials that a softmax of int16 can need.

    Args:
        input_scale: real value of one step of the data.
        beta: what the data is multiplied by before the exponential.

    Returns:
        int32 [65536], Q0.15: at d, exp(-d * beta * input_scale), that of -10 for what is less.
    """
    distances = -np.arange(_RANGE + 1)
    scaled = multiply_by_quantized_multiplier(distances, *scaling_int16(input_scale, beta))
    places = np.clip(scaled.astype(np.int64) + 2**15 - 1, -(2**15), 2**15 - 1)
    return _exponentials()[places + 2**15].astype(np.int32)


def scaling_int16(input_scale: float, beta: float) -> tuple[Int32Array, Int32Array]:
    """Return the multiplier and the shift that bring a distance to steps of 10 / 65535."""
    return quantize_multiplier(float(np.float32(input_scale) * np.float32(beta)) / (10.0 / _RANGE))


@cache
def reciprocal_table_int16() -> Int16Array:
    """Return 1 / (1 + x) in Q0.15, of x within [0, 1] in steps of 2^-16: int16 [65536]."""
    return interpolated(
        samples(lambda x: 1.0 / (1.0 + x), 1.0 / _RANGE, -(2**15), 2.0 / _RANGE, np.float64)
    )


def probabilities_int16(exponentials: Int32Array, total: npt.NDArray[np.int64]) -> Int16Array:
    """Divide exponentials by their sum.

    Args:
        exponentials: Q0.15.
        total: of each row, at least 2^14; broadcasts with them.

    Returns:
        int16, Q0.15.
    """
    bits = np.frexp(total.astype(np.float64))[1].astype(np.int64)  # exact: below 2^53
    # The sum brought into [1, 2), with 16 bits behind the point, less one.
    shifted = ((total << (31 - bits)) + (1 << 13)) >> 14
    place = np.clip(shifted - 2**16, 0, _RANGE)
    product = exponentials * reciprocal_table_int16()[place].astype(np.int64)
    down = bits - 1
    return np.clip((product + (1 << (down - 1))) >> down, 0, 2**15 - 1).astype(np.int16)


@cache
def _exponentials() -> Int16Array:
    # C's exp, of which numpy's may differ in the last bit.
    exp = np.vectorize(math.exp)
    return interpolated(samples(exp, 10.0 / _RANGE, 2**15 - 1, 2.0 / _RANGE, np.float64))
