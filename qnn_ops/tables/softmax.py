"""The fixed-point arithmetic of a quantized softmax, in numpy.

A Qm.n number is an int32 that counts steps of 2^-n and has m integer bits: Q0.31 holds [-1, 1),
Q5.26 holds [-32, 32). Source: exp_on_negative_values and one_over_one_plus_x_for_x_in_0_1 of
gemmlowp's fixedpoint/fixedpoint.h, and GetReciprocal and the reference SOFTMAX of TFLite.

Source of the softmax of int16: SoftmaxInt16 of TFLite's kernels/internal/reference/softmax.h, and
the samples of SoftmaxPrepare of its kernels/activations.cc: exp within [-10, 0], and 1 / (1 + x)
within [0, 1].
"""

import math
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_divide_by_pot,
)
from qnn_ops.arrays import Int16Array, Int32Array, Int64Array
from qnn_ops.dialect.attributes import per_axis
from qnn_ops.dialect.expressions import Expression, take
from qnn_ops.tables.tables_int16 import interpolated, samples

ACCUMULATOR_BITS = 12
"""Integer bits of a sum of exponentials, which is Q12.19."""

LARGEST_SUM = 2**31 - 1

NEWTON_STEPS = 3
FORTY_EIGHT_OVER_17 = 1515870810
"""48/17 in Q2.29. Newton's division starts with it."""
MINUS_32_OVER_17 = -1010580540
"""-32/17 in Q2.29."""

EXP_MINUS_EIGHTH = 1895147668
THIRD = 715827883
"""exp(-1/8) and 1/3 in Q0.31."""
EXP_MINUS_POWERS = {
    -2: 1672461947,
    -1: 1302514674,
    0: 790015084,
    1: 290630308,
    2: 39332535,
    3: 720401,
    4: 242,
}
"""exp(-2^k) in Q0.31, by k."""

_ONE = 2**31 - 1  # the closest number to 1 in Q0.31


def exp_table(input_scale: float, beta: float) -> Int32Array:
    """Return the exponentials that a softmax of 8-bit values can need.

    Args:
        input_scale: real value of one step of the data.
        beta: the data's factor before the exponential.

    Returns:
        int32 [256], Q0.31: at d, exp(-d * beta * input_scale); 0 if that is below exp(-31) or so,
        where TFLite leaves it out.
    """
    multiplier, shift = quantize_multiplier(
        min(beta * input_scale * 2.0**26, 2.0**31 - 1)  # from steps of the data to Q5.26
    )
    largest = math.floor(31 * 2.0**26 / 2.0 ** int(shift))
    differences = -np.arange(256, dtype=np.int64)
    kept = np.maximum(differences, -largest).astype(np.int32)
    exponents = multiply_by_quantized_multiplier(kept, multiplier, shift)
    return np.where(kept == differences, exp_on_negative_values(exponents), 0).astype(np.int32)


def exp_on_negative_values(a: npt.ArrayLike, integer_bits: int = 5, bits: int = 32) -> Int64Array:
    """Compute exp of a number that is at most 0.

    Args:
        a: integers with this number of integer bits, any shape; none positive.
        integer_bits: 5 for Q5.26.
        bits: of a number, 16 or 32.

    Returns:
        Q0.31, or Q0.15 of 16 bits; exp(0) is the closest number to 1.
    """
    values = np.asarray(a, dtype=np.int64)
    fraction_bits = bits - 1 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    # The part of a within [-1/4, 0), without integer bits, and the rest as a sum of powers of two.
    fraction = (values & (quarter - 1)) - quarter
    remainder = fraction - values
    result = _exp_from_minus_quarter_to_0(fraction << integer_bits, bits)
    for power, factor in EXP_MINUS_POWERS.items():
        if power < integer_bits:
            is_part = remainder & (1 << (fraction_bits + power)) != 0
            result = np.where(is_part, product(result, _upper(factor, bits), bits), result)
    if integer_bits > 5:  # no number is below -32
        result = np.where(values < -(32 << fraction_bits), 0, result)
    return np.where(values == 0, (1 << (bits - 1)) - 1, result)


def sum_term(exponentials: npt.ArrayLike) -> Int32Array:
    """Turn exponentials, Q0.31, into terms of a sum, Q12.19."""
    return rounding_divide_by_pot(exponentials, ACCUMULATOR_BITS)


def reciprocal(total: Any) -> tuple[Any, Any]:
    """Divide one by a number of at least 1: a fraction and a power of two.

    Args:
        total: Q12.19 integers in 2^19..2^31-1, int64, any shape.

    Returns:
        (fraction, bits): 1 / total is about fraction / 2^31 / 2^bits; fraction is Q0.31 and lies
        within [1/2, 1], bits within 0..11.
    """
    bits = powers_reached(total, range(20, 31))  # from 2 on
    # The total brought into [1, 2), and half of it: Q0.31.
    half_denominator = (total << (ACCUMULATOR_BITS - bits)) >> 1
    return np.minimum(inverse(half_denominator) * 2, _ONE), bits


def inverse(half_denominator: Any, bits: int = 32) -> Any:
    """Divide one by a number within [1, 2] by Newton's method.

    Args:
        half_denominator: half of the number, Q0.31, or Q0.15 of 16 bits.
        bits: of a number, 16 or 32.

    Returns:
        Twice the inverse, Q2.29, or Q2.13 of 16 bits.
    """
    slope, start = (_upper(each, bits) for each in (MINUS_32_OVER_17, FORTY_EIGHT_OVER_17))
    x = product(half_denominator, slope, bits) + start
    for _ in range(NEWTON_STEPS):
        error = (1 << (bits - 3)) - product(half_denominator, x, bits)
        x = x + product(x, error, bits) * 4  # x * error has four integer bits, x two
    return x


def powers_reached(total: Any, exponents: range) -> Any:
    """Count the powers of two that integers reach. An expression needs an axis of size 1."""
    powers = 1 << np.array(exponents)
    if not isinstance(total, Expression):
        return np.searchsorted(powers, total, side="right")
    axis = max(axis for axis, size in enumerate(total.shape) if size == 1)
    reached = (total >= per_axis(powers, axis, total.ndim)).astype(np.int64)
    return reached.sum(axis=axis, dtype=np.int64, keepdims=True)


def product(a: Any, b: Any, bits: int = 32) -> Any:
    """Return gemmlowp's doubling high product of integers of some bits, held in int64.

    The product of two lowest integers is beyond their range.
    """
    return (a * b + (1 << (bits - 2))) >> (bits - 1)


def _exp_from_minus_quarter_to_0(a: Int64Array, bits: int) -> Int64Array:
    """Compute exp of numbers without integer bits, in [-1/4, 0): Taylor's series around -1/8."""
    x = a + (1 << (bits - 4))
    square = product(x, x, bits)
    cube = product(square, x, bits)
    fourth_over_4 = _halve(product(square, square, bits), 2)
    rest = _halve(product(fourth_over_4 + cube, _upper(THIRD, bits), bits) + square, 1)
    first = _upper(EXP_MINUS_EIGHTH, bits)
    return np.minimum(first + product(first, x + rest, bits), (1 << (bits - 1)) - 1)


def _upper(constant: int, bits: int) -> int:
    """Return a constant of 32 bits, or its upper half, rounded."""
    return constant if bits == 32 else int(rounding_divide_by_pot(constant, 16))


def _halve(a: npt.ArrayLike, times: int) -> Int64Array:
    return rounding_divide_by_pot(a, times).astype(np.int64)


OUTPUT_SCALE_INT16 = 2.0**-15

_RANGE = 2**16 - 1


def exp_table_int16(input_scale: float, beta: float) -> Int32Array:
    """Return the exponentials that a softmax of int16 can need.

    Args:
        input_scale: real value of one step of the data.
        beta: the data's factor before the exponential.

    Returns:
        int32 [65536], Q0.15: at d, exp(-d * beta * input_scale); exp(-10) if the exponent is lower.
    """
    distances = -np.arange(_RANGE + 1)
    scaled = multiply_by_quantized_multiplier(distances, *scaling_int16(input_scale, beta))
    indices = np.clip(scaled.astype(np.int64) + 2**15 - 1, -(2**15), 2**15 - 1)
    return _exponentials()[indices + 2**15].astype(np.int32)


def scaling_int16(input_scale: float, beta: float) -> tuple[Int32Array, Int32Array]:
    """Return the multiplier and the shift that bring a distance to steps of 10 / 65535."""
    return quantize_multiplier(float(np.float32(input_scale) * np.float32(beta)) / (10.0 / _RANGE))


@cache
def reciprocal_table_int16() -> Int16Array:
    """Tabulate 1 / (1 + x) in Q0.15, for x within [0, 1] in steps of 2^-16: int16 [65536]."""
    return interpolated(
        samples(lambda x: 1.0 / (1.0 + x), 1.0 / _RANGE, -(2**15), 2.0 / _RANGE, np.float64)
    )


def probabilities_int16(exponentials: Any, total: Any) -> Any:
    """Divide exponentials by their sum.

    Args:
        exponentials: int64, Q0.15.
        total: the sum of each row, at least 2^14; broadcasts with the exponentials.

    Returns:
        int16, Q0.15.
    """
    # The sum has at least 15 bits, and one more for each power that it reaches.
    more = powers_reached(total, range(15, 31))
    # The sum is brought into [1, 2), with 16 fraction bits, and one is subtracted.
    shifted = ((total << (16 - more)) + (1 << 13)) >> 14
    index = (shifted - 2**16).astype(np.int32)
    inverse = take(reciprocal_table_int16().astype(np.int64), index)
    down = more + 14
    steps = (exponentials * inverse + (np.int64(1) << (down - 1))) >> down
    return np.clip(steps, 0, 2**15 - 1).astype(np.int16)


@cache
def _exponentials() -> Int16Array:
    # C's exp; numpy's may differ from it in the last bit.
    exp = np.vectorize(math.exp)
    return interpolated(samples(exp, 10.0 / _RANGE, 2**15 - 1, 2.0 / _RANGE, np.float64))
