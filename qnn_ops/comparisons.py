"""The integers by which quantized values are compared."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic import multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.attributes import dtype_range
from qnn_ops.errors import QnnError

_LEFT_SHIFT = 8


def comparison_table(scale: float, zero_point: int, dtype: str) -> npt.NDArray[np.int32]:
    """Give the integer that stands for each value when it is compared.

    Values that are less than 1/256 apart may stand for the same one.

    Source: ComparisonWithScaling of TFLite's kernels/internal/reference/comparisons.h, with the
    parameters of ComparisonQuantized in kernels/comparisons.cc: the tensor's scale itself is the
    multiplier.

    Args:
        scale: of the tensor; below 1.
        zero_point: likewise.
        dtype: "int8", "uint8" or "int16".

    Returns:
        int32 [256], of int16 [65536]: for the lowest value, the next one, and so on.

    Raises:
        QnnError: if the scale is not below 1; LiteRT ends the process.
    """
    multiplier, shift = quantize_multiplier(scale)
    if not 0 < scale < 1 or shift > 0:
        raise QnnError(f"only tensors of a scale below 1 can be compared, got {scale}")
    low, high = dtype_range(dtype)
    shifted = (np.arange(low, high + 1) - zero_point) << _LEFT_SHIFT
    return multiply_by_quantized_multiplier(shifted, multiplier, shift)
