"""gemmlowp's two output stages, which scale the int32 sums of a matrix product.

Both give int32 values in the scale of the result; ``clamp_to`` then makes them int8 or uint8.
"""

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.fixed_point import (
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from qnn_ops.arrays import Int32Array
from qnn_ops.dialect.checks import int32_values


def quantize_down_by_fixed_point(
    acc: npt.ArrayLike,
    multiplier: npt.ArrayLike,
    right_shift: npt.ArrayLike,
    offset_after_shift: npt.ArrayLike,
) -> Int32Array:
    """Scale sums by a Q31 multiplier below one: round(acc · multiplier / 2^31 / 2^shift) + offset.

    The offset comes last, so it is an integer in the result's scale: the zero point. Source:
    OutputStageQuantizeDownInt32ByFixedPoint of gemmlowp's public/output_stages.h.

    Args:
        acc: integers within int32, any shape; zero points and bias already accounted for.
        multiplier: int32; from ``quantize_multiplier`` it lies in [2^30, 2^31). Broadcast.
        right_shift: in 0..31; the shift of ``quantize_multiplier``, negated. Broadcast.
        offset_after_shift: integers within int32; the result's zero point. Broadcast.

    Returns:
        int32, the broadcast shape. The last addition wraps modulo 2^32.

    Raises:
        QnnError: if a value is not an integer within its range.
    """
    high = saturating_rounding_doubling_high_mul(acc, multiplier)
    scaled = rounding_divide_by_pot(high, right_shift)
    offset = int32_values("offset_after_shift", offset_after_shift)
    return (scaled + offset).astype(np.int32)


def quantize_down_to_uint8_scale(
    acc: npt.ArrayLike,
    result_offset: npt.ArrayLike,
    result_mult_int: npt.ArrayLike,
    result_shift: npt.ArrayLike,
) -> Int32Array:
    """Scale sums by an integer and a shift: round((acc + offset) · mult_int / 2^shift).

    The fixed-point stage replaced this one. Its sum and its product are plain int32. Both wrap
    modulo 2^32, so mult_int has only the bits that acc leaves free. Its offset is scaled too, so
    zero need not fall on an integer of the result. Source: OutputStageQuantizeDownInt32ToUint8Scale
    of gemmlowp's public/output_stages.h, with ties away from zero, as its code has them.

    Args:
        acc: integers within int32, any shape.
        result_offset: integers within int32; broadcast.
        result_mult_int: integers within int32; broadcast.
        result_shift: the right shift, in 0..31; broadcast.

    Returns:
        int32, the broadcast shape.

    Raises:
        QnnError: if a value is not an integer within its range.
    """
    offset = int32_values("result_offset", result_offset)
    total = (int32_values("acc", acc) + offset).astype(np.int32)
    multiplier = int32_values("result_mult_int", result_mult_int)
    return rounding_divide_by_pot((total * multiplier).astype(np.int32), result_shift)
