"""Comparisons: the integers that LiteRT compares for quantized values, and floats with NaN."""

import numpy as np
from tvm import relax
from tvm.relax import op as R

from qnn_ops.arithmetic.fixed_point import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    saturating_rounding_doubling_high_mul,
)
from qnn_ops.arrays import Int32Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError

_LEFT_SHIFT = 8


def comparison_table(scale: float, zero_point: int, dtype: str) -> Int32Array:
    """Return the integer that stands for each value in a comparison.

    Values less than 1/256 apart may have the same integer. With a scale above 1 all values of one
    sign have the same: LiteRT then divides by 2 to a negative power, which C++ leaves undefined.
    Processors (x86, AArch64) shift by its lowest bits, which leaves only the sign.

    Source: ComparisonWithScaling of TFLite's kernels/internal/reference/comparisons.h, with the
    parameters of ComparisonQuantized in kernels/comparisons.cc: the tensor's scale itself is the
    multiplier.

    Args:
        scale: the tensor's scale; not 1.
        zero_point: the tensor's zero point.
        dtype: "int8", "uint8" or "int16".

    Returns:
        int32 [256], for int16 [65536]: for the lowest value, the next one, and so on.

    Raises:
        QnnError: if the scale is 1, for which LiteRT ends the process, or so large that LiteRT's
            builds differ, or no positive number.
    """
    multiplier, shift = quantize_multiplier(scale)
    if scale <= 0 or np.float32(scale) == 1:
        raise QnnError(f"LiteRT compares no tensors of the scale {scale}")
    low, high = dtype_range(dtype)
    shifted = (np.arange(low, high + 1) - zero_point) << _LEFT_SHIFT
    if shift <= 0:
        return multiply_by_quantized_multiplier(shifted, multiplier, shift)
    products = saturating_rounding_doubling_high_mul(shifted, multiplier)
    if np.abs(products.astype(np.int64)).max() >= 1 << max(32 - int(shift), 0):
        raise QnnError(f"LiteRT's builds differ in how they compare tensors of the scale {scale}")
    return np.where(products < 0, -1, 1).astype(np.int32)


def unequal(lhs: relax.Expr, rhs: relax.Expr) -> relax.Expr:
    """Tell where numbers differ. NaN differs from every number, which TVM's own operator misses."""
    differ = R.not_equal(lhs, rhs)
    if not spec_of(rhs).dtype.startswith("float"):
        return differ
    # TVM would simplify the negation of "equal" to its own operator again.
    return R.logical_or(differ, R.logical_or(R.isnan(lhs), R.isnan(rhs)))
