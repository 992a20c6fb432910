"""Squared difference of quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from qnn_ops.arithmetic import multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.elementwise import ElementwiseOperator, scale_result
from qnn_ops.errors import QnnError
from qnn_ops.registry import Attrs, Known, TensorSpec

Array = np.ndarray[Any, Any]

SQUARE_SHIFT = 7
"""The bits that both operands gain before they are scaled; their squares fit int32."""


@ElementwiseOperator
def quantized_squared_difference(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Square the difference of two quantized tensors.

    Source of the arithmetic: TFLite's reference SQUARED_DIFFERENCE. With t twice the larger operand
    scale, both operands, less their zero points, are shifted left by 7 bits and multiplied by
    scale / t; the square of the difference is multiplied by t² / (2^14 output_scale). Each product
    is rounded as gemmlowp does (qnn_ops.rounding, "tflite"); the zero point is added and the result
    clamped.
    """
    left, right, result = square_multipliers(attrs)
    difference = _on_common_scale(lhs, attrs.lhs_zero_point, left) - _on_common_scale(
        rhs, attrs.rhs_zero_point, right
    )
    return scale_result(attrs, difference * difference, result)


def square_multipliers(attrs: Attrs) -> tuple[float, float, float]:
    """Return the real multipliers of lhs and rhs to their common scale, and of the square."""
    twice = 2.0 * max(attrs.lhs_scale, attrs.rhs_scale)
    with np.errstate(over="ignore"):
        step = float(np.float32(2.0 ** (2 * SQUARE_SHIFT)) * np.float32(attrs.output_scale))
    return attrs.lhs_scale / twice, attrs.rhs_scale / twice, twice * twice / step


@quantized_squared_difference.overflow_rule
def _overflow(attrs: Attrs, _known: Known, _lhs: TensorSpec, _rhs: TensorSpec) -> None:
    # The operands are at most 255 * 2^6 on the common scale.
    *_, result = square_multipliers(attrs)
    if not 0 < result < 1:
        raise QnnError(
            f"output_scale {attrs.output_scale:.4g} does not go with operands of scale "
            f"{max(attrs.lhs_scale, attrs.rhs_scale):.4g}: TFLite defines squares of differences "
            "of a multiplier below 1"
        )


def _on_common_scale(data: Array, zero_point: int, multiplier: float) -> Array:
    lifted = (data.astype(np.int32) - zero_point) << SQUARE_SHIFT
    return multiply_by_quantized_multiplier(lifted, *quantize_multiplier(multiplier))
