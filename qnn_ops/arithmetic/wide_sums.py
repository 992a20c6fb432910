"""64-bit sums of products of int16 data, and their scaling.

Source: the kernels for 16-bit activations and 8-bit weights of TFLite's reference CONV_2D,
DEPTHWISE_CONV_2D and FULLY_CONNECTED. A bias of int32 makes their sums 32 bits wide.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.accumulator_bounds import Bounds, Weights, check_scaled
from qnn_ops.arithmetic.fixed_point import scaled_once
from qnn_ops.arrays import Array, Float64Array, Int64Array
from qnn_ops.dialect.checks import check_alike, check_choice, check_dtype
from qnn_ops.dialect.registry import Attrs, TensorSpec
from qnn_ops.errors import QnnError

MOST_SHIFT = 14
"""The largest left shift of a wide sum."""


def reduced_multiplier(multiplier: npt.ArrayLike) -> Int64Array:
    """Round a Q31 multiplier to Q15; 1 is 2^15 - 1."""
    return np.minimum((np.asarray(multiplier, np.int64) + (1 << 15)) >> 16, 0x7FFF)


def multiply_by_reduced_multiplier(x: Any, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Any:
    """Compute x · multiplier / 2^31 · 2^shift with 15 bits of the multiplier, rounded half up.

    Source: MultiplyByQuantizedMultiplier of TFLite's kernels/internal/common.cc, for int64. A
    result beyond int32 wraps modulo 2^32, as that code's conversion does.

    Args:
        x: integers below 2^47 in magnitude, any shape: an array or an expression.
        multiplier: int32, from ``quantize_multiplier``; broadcast with ``x``.
        shift: in -31..14, positive to the left; broadcast with ``x``.

    Returns:
        int32, the broadcast shape.

    Raises:
        QnnError: if a shift is larger.
    """
    if (np.asarray(shift) > MOST_SHIFT).any():
        raise QnnError(f"shift must be at most {MOST_SHIFT}, got {np.max(shift)}")
    return scaled_once(x, reduced_multiplier(multiplier), shift, 15)


REDUCED = "reduced"
"""The rounding of wide sums."""

ROUNDINGS = (REDUCED, "float64")

# The limit of TFLite's arithmetic: the product of a smaller sum and 15 bits fits 64 bits.
_LARGEST_SUM = 2**47


def is_wide(data_dtype: str, bias_dtype: str | None) -> bool:
    """Tell whether the sums of a convolution or dense layer are 64 bits wide."""
    return data_dtype == "int16" and bias_dtype != "int32"


def check_sum_types(
    attrs: Attrs, data: TensorSpec, weights: TensorSpec, bias: TensorSpec | None
) -> None:
    """Raise unless the dtypes and the rounding of a convolution or dense layer go together."""
    if data.dtype == "int16":
        check_alike(
            {"out_dtype": attrs.out_dtype, "quantized_data": "int16"},
            {
                "input_zero_point": attrs.input_zero_point,
                "output_zero_point": attrs.output_zero_point,
            },
        )
        check_dtype("weights beside int16", weights.dtype, ("int8",))
    elif attrs.out_dtype == "int16":
        raise QnnError(f"out_dtype is int16, the data is {data.dtype}")
    if bias is not None:
        check_dtype("bias", bias.dtype, ("int32", "int64") if data.dtype == "int16" else ("int32",))
    if is_wide(data.dtype, None if bias is None else bias.dtype):
        check_choice("the rounding of 64-bit sums", attrs.rounding, ROUNDINGS)
    elif attrs.rounding == REDUCED:
        raise QnnError(f"rounding {REDUCED!r} needs int16 data, and no bias of int32")


def check_wide_sums(
    attrs: Attrs, weights: Weights, bias: Array | None, multiplier: Float64Array
) -> None:
    """Raise if the sums, or their scaled values, can go where TFLite does not define them."""
    most = weights.depth * weights.largest * 2**15
    if bias is not None and bias.size:
        most += int(np.abs(bias.astype(np.float64)).max())
    if most >= _LARGEST_SUM:
        raise QnnError(f"the sums can reach {most}, TFLite defines them below 2^47")
    if attrs.rounding == "float64":
        sums = weights.sums(Bounds.of(-(2**15), 2**15 - 1))
        sums = sums if bias is None else sums + bias
        check_scaled(sums, multiplier, "float64", attrs.output_zero_point)
