"""Sums of products of int16 data, which are 64 bits wide.

Source: the kernels for 16-bit activations and 8-bit weights of TFLite's reference CONV_2D,
DEPTHWISE_CONV_2D and FULLY_CONNECTED. A bias of int32 makes their sums 32 bits wide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.accumulator_bounds import Bounds, Weights, check_scaled
from qnn_ops.checks import check_alike, check_choice, check_dtype
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, TensorSpec

REDUCED = "reduced"
"""The rounding of wide sums."""

ROUNDINGS = (REDUCED, "float64")

# What TFLite's arithmetic takes: below it, the product with a 15-bit multiplier keeps 64 bits.
_LARGEST_SUM = 2**47


def is_wide(data_dtype: str, bias_dtype: str | None) -> bool:
    """Tell whether the sums of a convolution or dense layer are 64 bits wide."""
    return data_dtype == "int16" and bias_dtype != "int32"


def check_sum_types(
    attrs: Attrs, data: TensorSpec, weights: TensorSpec, bias: TensorSpec | None
) -> None:
    """Raise unless the types of a convolution or dense layer go together, and its rounding."""
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
    attrs: Attrs,
    weights: Weights,
    bias: npt.NDArray[Any] | None,
    multiplier: npt.NDArray[np.float64],
) -> None:
    """Raise if TFLite does not define what the sums, or what they are scaled to, can reach."""
    most = weights.depth * weights.largest * 2**15
    if bias is not None and bias.size:
        most += int(np.abs(bias.astype(np.float64)).max())
    if most >= _LARGEST_SUM:
        raise QnnError(f"the sums can reach {most}, TFLite defines them below 2^47")
    if attrs.rounding == "float64":
        sums = weights.sums(Bounds.of(-(2**15), 2**15 - 1))
        sums = sums if bias is None else sums + bias
        check_scaled(sums, multiplier, "float64", attrs.output_zero_point)
