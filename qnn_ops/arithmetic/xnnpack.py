"""XNNPACK's arithmetic of quantized operators, as ExecuTorch's delegate uses it, in numpy.

Source: XNNPACK in ExecuTorch 1.5.1, on x86. Convolutions and dense layers have rounding "float32".
All other operators have roundings of their own. Quantization multiplies by a float32 reciprocal and
rounds half to even. Sums are fixed point and round ties up. Products are float32 and round half to
even. Means do so after the zero points are added.
"""

import math
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.fixed_point import float32_quotient
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arithmetic.rounding import scale_result
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.traits import OFFSETS
from qnn_ops.errors import QnnError

XNNPACK = "xnnpack"

# The bits of a sum's larger factor, and the range of quotients of scales in which XNNPACK adds.
_SUM_BITS = 20
_LEAST_QUOTIENT, _QUOTIENT_LIMIT = 2.0**-10, 2.0**8

# A mean's float32 depends on zero points. So it uses int8's, even if bytes were moved.
_FROM_INT8 = {"int8": 0, "uint8": OFFSETS["uint8"]}


class SumTerms(NamedTuple):
    """The constants of a sum: (lhs·first + rhs·second + 2^(shift − 1)) >> shift, less zero points.

    Attributes:
        first: factor of lhs.
        second: factor of rhs; negative in a difference.
        shift: at least 13.
    """

    first: int
    second: int
    shift: int


class MeanTerms(NamedTuple):
    """The constants of a mean: rint((sum − taken) · factor + constant) + given, in float32.

    Attributes:
        taken: turns the sum into one of int8 values.
        factor: how many steps of the result one step of a sum is.
        constant: the contribution of both zero points.
        given: turns the int8 result into one of its own dtype.
    """

    taken: int
    factor: np.float32
    constant: np.float32
    given: int


def is_xnnpack(attrs: Any) -> bool:
    """Tell whether a call has XNNPACK's arithmetic."""
    return attrs.arithmetic == XNNPACK


def check_sum(attrs: Any) -> None:
    """Raise unless XNNPACK adds operands of these scales. The smaller scale may be any."""
    name, scale = max(
        ((name, getattr(attrs, f"{name}_scale")) for name in ("lhs", "rhs")), key=itemgetter(1)
    )
    quotient = float32_quotient((scale,), attrs.output_scale)
    if not _LEAST_QUOTIENT <= quotient < _QUOTIENT_LIMIT:
        raise QnnError(
            f"{name}_scale {scale:.4g} and output_scale {attrs.output_scale:.4g} do not go "
            "together: XNNPACK adds where the larger quotient is from 2^-10 to below 2^8"
        )


def sum_terms(attrs: Any, sign: int = 1) -> SumTerms:
    """Return the constants of a sum, or with the sign -1 of a difference."""
    scales = attrs.lhs_scale, attrs.rhs_scale
    first, second = (float32_quotient((scale,), attrs.output_scale) for scale in scales)
    shift = _SUM_BITS - (math.frexp(max(first, second))[1] - 1)
    return SumTerms(round(math.ldexp(first, shift)), sign * round(math.ldexp(second, shift)), shift)


def sum_xnnpack(attrs: Any, lhs: Array, rhs: Array, sign: int = 1) -> Array:
    """Add, or with the sign -1 subtract, in fixed point, ties up."""
    first, second, shift = sum_terms(attrs, sign)
    # int32 has room for the sum and for the half that rounds it.
    left = (lhs.astype(np.int32) - attrs.lhs_zero_point) * first
    right = (rhs.astype(np.int32) - attrs.rhs_zero_point) * second
    steps = ((left + right + (1 << (shift - 1))) >> shift) + attrs.output_zero_point
    return np.clip(steps, attrs.out_min, attrs.out_max).astype(attrs.out_dtype)


def product_xnnpack(attrs: Any, lhs: Array, rhs: Array) -> Array:
    """Multiply by a float32 factor, rounded half to even before the zero point is added."""
    factor = float32_quotient((attrs.lhs_scale, attrs.rhs_scale), attrs.output_scale)
    products = (lhs.astype(np.int32) - attrs.lhs_zero_point) * (
        rhs.astype(np.int32) - attrs.rhs_zero_point
    )
    return scale_result(attrs, products, factor, "float32")


def mean_terms(attrs: Any, dtype: str, count: int) -> MeanTerms:
    """Return the constants of a mean of ``count`` values of ``dtype``."""
    taken = _FROM_INT8[dtype]
    one, scale, output = (np.float32(value) for value in (1, attrs.input_scale, attrs.output_scale))
    with np.errstate(over="ignore", under="ignore"):
        factor = np.float32(scale / output) * (one / np.float32(count))
        zeros = np.float32((attrs.input_zero_point - taken) * count)
        point = np.float32(attrs.output_zero_point - _FROM_INT8[attrs.out_dtype])
        constant = np.float32(point - np.float32(zeros * factor))
    return MeanTerms(taken * count, np.float32(factor), constant, _FROM_INT8[attrs.out_dtype])


def mean_xnnpack(attrs: Any, dtype: str, sums: Array, count: int) -> Array:
    """Average in float32: add the zero points, then round half to even.

    Args:
        attrs: the call's attributes.
        dtype: the dtype of the values.
        sums: sums of the values as they are.
        count: the number of values in each sum.
    """
    terms = mean_terms(attrs, dtype, count)
    scaled = rounded((sums - terms.taken).astype(np.float32) * terms.factor)
    steps = np.clip(np.rint(scaled + terms.constant), *dtype_range("int8"))
    return (steps.astype(np.int32) + terms.given).astype(attrs.out_dtype)


def reciprocal(scale: npt.ArrayLike) -> Array:
    """Return how many steps of ``scale`` the number 1 is, in float32."""
    with np.errstate(all="ignore"):
        return np.float32(1) / np.asarray(scale, np.float32)


def quantize_xnnpack(
    values: Any, scale: npt.ArrayLike, zero_point: npt.ArrayLike, dtype: str
) -> Any:
    """Quantize by a product with the reciprocal of the scale, rounded half to even.

    Args:
        values: float32, any shape; NaN gives the highest value.
        scale: broadcast with ``values``.
        zero_point: broadcast with ``values``.
        dtype: of the result.
    """
    low, high = dtype_range(dtype)
    points = np.asarray(zero_point, np.int32)
    lowest, highest = (low - points).astype(np.float32), (high - points).astype(np.float32)
    with np.errstate(all="ignore"):
        steps = values * reciprocal(scale)
    # If one operand is NaN, fmin takes the other one, as XNNPACK does.
    bounded = np.maximum(np.fmin(steps, highest), lowest)
    return (np.rint(bounded).astype(np.int32) + points).astype(dtype)


def clamp_table(
    data: tuple[float, int, str], result: tuple[float, int, str], ends: tuple[float, float]
) -> Array:
    """Tabulate an activation of 8-bit values, the lowest value's result first.

    Computed in float32. The zero point is added before the result is rounded half to even.

    Args:
        data: scale, zero point and dtype of the values.
        result: scale, zero point and dtype of the result.
        ends: the lowest and the highest real number.
    """
    scale, point, dtype = data
    low, high = dtype_range(dtype)
    reals = (np.arange(low, high + 1) - point).astype(np.float32) * np.float32(scale)
    bounded = np.clip(reals, np.float32(ends[0]), np.float32(ends[1]))
    output, zero_point, out_dtype = result
    steps = bounded * reciprocal(output) + np.float32(zero_point)
    return np.asarray(np.clip(np.rint(steps), *dtype_range(out_dtype)), out_dtype)
