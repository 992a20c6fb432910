"""The functions and the normalization of an LSTM's gates, in fixed point.

A Qm.n number is an int16 that counts steps of 2^-n and has m integer bits. Source of the functions:
logistic and tanh of gemmlowp's fixedpoint/fixedpoint.h for 16 bits. Its constants are those for 32
bits, rounded. Source of the normalization: ApplyLayerNorm of TFLite's
kernels/internal/reference/portable_tensor_utils.cc.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.fixed_point import (
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    saturate_int16,
)
from qnn_ops.arithmetic.inverse_sqrt import inverse_sqrt_multiplier
from qnn_ops.arrays import Array, Int16Array, Int64Array
from qnn_ops.tables.softmax import exp_on_negative_values, inverse
from qnn_ops.tables.tables_int16 import EVERY_INT16

ONE = 2**15 - 1
"""The closest number to 1 in Q0.15."""
GATE_BITS = 3
"""The integer bits of gates before these functions."""
MOST_BITS = 6
"""The most integer bits of an argument of tanh."""

LOWEST = 1 << 15
"""The distance of a table's lowest argument from 0."""

_HALF = 1 << 14
_ONE_Q2_13 = 1 << 13


@cache
def logistic_table() -> Int16Array:
    """Tabulate 1 / (1 + exp(-x)) from Q3.12 to Q0.15, the lowest x first.

    The result of a negative number is one less that of its magnitude.
    """
    powers = exp_on_negative_values(-np.abs(EVERY_INT16), GATE_BITS, 16)
    found = saturate_int16(_inverse_of_one_more(powers) << 1)
    found = np.where(EVERY_INT16 < 0, ONE - found, found)
    return np.where(EVERY_INT16 == 0, _HALF, found).astype(np.int16)


@cache
def tanh_table(integer_bits: int) -> Int16Array:
    """Tabulate tanh in Q0.15 of numbers with these integer bits, the lowest first."""
    powers = exp_on_negative_values(-np.abs(EVERY_INT16), integer_bits + 1, 16)
    found = saturate_int16((_inverse_of_one_more(powers) - _ONE_Q2_13) << 2)
    return np.asarray(np.sign(EVERY_INT16) * found, np.int16)


def logistic(x: npt.NDArray[np.integer]) -> Int64Array:
    """Look up 1 / (1 + exp(-x)) of Q3.12."""
    return logistic_table()[x.astype(np.int64) + LOWEST].astype(np.int64)


def tanh(x: npt.NDArray[np.integer], integer_bits: int) -> Int64Array:
    """Look up tanh of numbers with these integer bits."""
    return tanh_table(integer_bits)[x.astype(np.int64) + LOWEST].astype(np.int64)


def _inverse_of_one_more(powers: Int64Array) -> Int64Array:
    """Compute 2 / (1 + x) of numbers x within [0, 1], Q0.15: Q2.13."""
    found: Int64Array = inverse((powers + ONE + 1) >> 1, 16)
    return found


MOST_SCALE = 2.0**18
"""The scale of the norm's weights is less than this."""
NORM_BITS = 10
"""The fraction bits of a normalized value."""
GATE_FRACTION_BITS = 12
"""The fraction bits of a gate."""
VARIANCE_BITS = 20


def norm_multiplier(scale: float) -> tuple[int, int]:
    """Return multiplier and shift that turn the last product into Q3.12."""
    multiplier, shift = quantize_multiplier(float(np.float32(scale)))
    return int(multiplier), int(shift) + GATE_FRACTION_BITS


def variance_guard(scale: float) -> int:
    """Return the number that replaces a variance below 1."""
    return max(1, int(np.float32(10000) * np.float32(scale)))


def normalized(values: Array, weights: Array, bias: Array, scale: float) -> Int64Array:
    """Bring each row to a mean of 0 and a variance of 1, multiply by weights and add the bias.

    The mean is truncated to 1/1024. The variance is truncated to a whole number; its sum is
    multiplied by 2^20 / columns, which is truncated, too. The products with weights wrap in int32.

    Args:
        values: int64 within int16, [rows, columns].
        weights: int16, [columns].
        bias: int32, [columns], in steps of 1/1024 of the weights' scale.
        scale: the scale of the weights.

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
