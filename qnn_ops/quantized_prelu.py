"""Rectifier of quantized tensors whose slope below zero is a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from qnn_ops.accumulator_bounds import Bounds, centred_bounds, check_scaled
from qnn_ops.arithmetic import clamp_to, multiply_by_quantized_multiplier, quantize_multiplier
from qnn_ops.elementwise import ElementwiseOperator, saturating
from qnn_ops.registry import Attrs, Known, TensorSpec

Array = np.ndarray[Any, Any]


@ElementwiseOperator
def quantized_prelu(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Leave what is positive in ``lhs``, and multiply what is negative by the slopes ``rhs``.

    Source of the arithmetic: TFLite's reference PRELU. Values less their zero point are multiplied
    by lhs_scale / output_scale from 0 on; below, their product with the slope less its zero point
    is multiplied by lhs_scale * rhs_scale / output_scale. Both factors are computed in float32,
    step by step; the scaling rounds as gemmlowp does (qnn_ops.rounding, "tflite"); the zero point
    is added and the result clamped. Where TFLite's own code is undefined, because a factor exceeds
    2^14, the result saturates.
    """
    above, below = prelu_multipliers(attrs)
    values = lhs.astype(np.int32) - attrs.lhs_zero_point
    slopes = rhs.astype(np.int32) - attrs.rhs_zero_point
    kept = multiply_by_quantized_multiplier(np.maximum(values, 0), *quantize_multiplier(above))
    products = np.minimum(values, 0) * slopes
    total = kept + multiply_by_quantized_multiplier(products, *quantize_multiplier(below))
    result = total.astype(np.int64) + attrs.output_zero_point
    return clamp_to(result, attrs.out_dtype, attrs.out_min, attrs.out_max)


def prelu_multipliers(attrs: Attrs) -> tuple[float, float]:
    """Return the real multipliers of what is not negative, and of products with slopes."""
    above, below = _stated_multipliers(attrs)
    return saturating(above), saturating(below)


def _stated_multipliers(attrs: Attrs) -> tuple[float, float]:
    lhs, rhs, output = (
        np.float32(scale) for scale in (attrs.lhs_scale, attrs.rhs_scale, attrs.output_scale)
    )
    with np.errstate(over="ignore", under="ignore"):
        return float(lhs / output), float(lhs * rhs / output)


@quantized_prelu.overflow_rule
def _overflow(attrs: Attrs, _known: Known, lhs: TensorSpec, rhs: TensorSpec) -> None:
    above, below = _stated_multipliers(attrs)
    data = centred_bounds(lhs.dtype, attrs.lhs_zero_point)
    slopes = centred_bounds(rhs.dtype, attrs.rhs_zero_point)
    check_scaled(Bounds.of(0, data.high), above, "tflite", attrs.output_zero_point)
    products = Bounds.of(data.low, 0) * slopes
    check_scaled(products, below, "tflite", attrs.output_zero_point)
