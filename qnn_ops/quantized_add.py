"""Sum of quantized tensors."""

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
from qnn_ops.onnxruntime import ONNXRUNTIME, is_onnxruntime, sum_onnxruntime
from qnn_ops.registry import Attrs, TensorSpec
from qnn_ops.xnnpack import XNNPACK, check_sum, is_xnnpack, sum_xnnpack

Array = np.ndarray[Any, Any]


@partial(ElementwiseOperator, arithmetics=(ONNXRUNTIME, XNNPACK))
def quantized_add(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Add two quantized tensors.

    Source of the arithmetic: TFLite's reference ADD. With t twice the larger operand scale, both
    operands, less their zero points, are shifted left by 20 bits and multiplied by scale / t; the
    sum is multiplied by t / (2^20 output_scale). Each product is rounded as gemmlowp does
    (qnn_ops.rounding, "tflite"); the zero point is added and the result clamped. Where TFLite's
    own code is undefined, because t / output_scale exceeds 2^20, the result saturates. Of int16
    the shift is by 15 bits.

    With arithmetic "onnxruntime", that of QLinearAdd on x86: a sum of the raw values by two fused
    multiply-adds in float32, rounded half to even; see qnn_ops.onnxruntime. With arithmetic
    "xnnpack", that of XNNPACK: both factors are integers of up to 21 bits, their sum is shifted
    once and rounds ties up; see qnn_ops.xnnpack.
    """
    if is_onnxruntime(attrs):
        return sum_onnxruntime(attrs, lhs, rhs)
    if is_xnnpack(attrs):
        return sum_xnnpack(attrs, lhs, rhs)
    return sum_reference(attrs, lhs, rhs, 1)


@quantized_add.type_rule
def _type(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    if is_xnnpack(attrs):
        check_sum(attrs)
    return elementwise_type(attrs, lhs, rhs)


quantized_add.overflow_rule(sum_overflow)
