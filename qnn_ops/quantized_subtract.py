"""Difference of quantized tensors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from qnn_ops.elementwise import (
    ElementwiseOperator,
    elementwise_type,
    sum_overflow,
    sum_reference,
)
from qnn_ops.registry import Attrs, TensorSpec
from qnn_ops.xnnpack import XNNPACK, check_sum, is_xnnpack, sum_xnnpack

Array = np.ndarray[Any, Any]


@partial(ElementwiseOperator, arithmetics=(XNNPACK,))
def quantized_subtract(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Subtract a quantized tensor from another.

    Source of the arithmetic: TFLite's reference SUB. With t twice the larger operand scale, both
    operands, less their zero points, are shifted left by 20 bits and multiplied by scale / t; the
    difference is multiplied by t / (2^20 output_scale). Each product is rounded as gemmlowp does
    (qnn_ops.rounding, "tflite"); the zero point is added and the result clamped. Where TFLite's
    own code is undefined, because t / output_scale exceeds 2^20, the result saturates.

    With arithmetic "xnnpack", that of XNNPACK: a sum whose second factor is negative; see
    quantized_add and qnn_ops.xnnpack.
    """
    if is_xnnpack(attrs):
        return sum_xnnpack(attrs, lhs, rhs, -1)
    return sum_reference(attrs, lhs, rhs, -1)


@quantized_subtract.type_rule
def _type(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    if is_xnnpack(attrs):
        check_sum(attrs)
    return elementwise_type(attrs, lhs, rhs)


quantized_subtract.overflow_rule(sum_overflow)
