"""Product of quantized tensors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from qnn_ops.accumulator_bounds import centred_bounds, lifted_beyond_int32
from qnn_ops.arithmetic import (
    clamp_to,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    wrap_to_int32,
)
from qnn_ops.elementwise import (
    ElementwiseOperator,
    product_multiplier,
)
from qnn_ops.onnxruntime import (
    ONNXRUNTIME,
    is_onnxruntime,
    product_factor,
    product_onnxruntime,
)
from qnn_ops.registry import Attrs, Known, TensorSpec
from qnn_ops.xnnpack import XNNPACK, is_xnnpack, product_xnnpack

Array = np.ndarray[Any, Any]


@partial(ElementwiseOperator, arithmetics=(ONNXRUNTIME, XNNPACK))
def quantized_multiply(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Multiply two quantized tensors element by element.

    Source of the arithmetic: TFLite's reference MUL. The product of the operands, less their zero
    points, is multiplied by lhs_scale * rhs_scale / output_scale, computed and rounded in float32
    step by step; the scaling rounds as gemmlowp does (qnn_ops.rounding, "tflite"); the zero point
    is added and the result clamped. A left shift by 32 bits or more counts modulo 32, as in TFLite
    on x86; where what is shifted, or the sum with the zero point, leaves int32, it wraps, as in
    LiteRT's builds.

    With arithmetic "onnxruntime", that of QLinearMul: the product of the values, less their zero
    points, is multiplied by the quotient in float32, and the zero point added there before the sum
    is rounded half to even; see qnn_ops.onnxruntime. With arithmetic "xnnpack" the same product is
    rounded first, and the zero point added then.
    """
    if is_onnxruntime(attrs):
        return product_onnxruntime(attrs, lhs, rhs)
    if is_xnnpack(attrs):
        return product_xnnpack(attrs, lhs, rhs, product_factor(attrs))
    lhs_values = lhs.astype(np.int32) - attrs.lhs_zero_point
    rhs_values = rhs.astype(np.int32) - attrs.rhs_zero_point
    factor = quantize_multiplier(product_multiplier(attrs))
    scaled = multiply_by_quantized_multiplier(lhs_values * rhs_values, *factor)
    moved = wrap_to_int32(scaled.astype(np.int64) + attrs.output_zero_point)
    return clamp_to(moved, attrs.out_dtype, attrs.out_min, attrs.out_max)


@quantized_multiply.overflow_rule
def _overflow(attrs: Attrs, _known: Known, lhs: TensorSpec, rhs: TensorSpec) -> str:
    if is_onnxruntime(attrs) or is_xnnpack(attrs):
        return ""
    left = centred_bounds(lhs.dtype, attrs.lhs_zero_point)
    right = centred_bounds(rhs.dtype, attrs.rhs_zero_point)
    return lifted_beyond_int32(left * right, quantize_multiplier(product_multiplier(attrs))[1])
