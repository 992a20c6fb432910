"""Sum of quantized tensors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from qnn_ops.elementwise import ElementwiseOperator, sum_overflow, sum_reference
from qnn_ops.onnxruntime import is_onnxruntime, sum_onnxruntime
from qnn_ops.registry import Attrs

Array = np.ndarray[Any, Any]


@partial(ElementwiseOperator, has_onnxruntime=True)
def quantized_add(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Add two quantized tensors.

    Source of the arithmetic: TFLite's reference ADD. With t twice the larger operand scale, both
    operands, less their zero points, are shifted left by 20 bits and multiplied by scale / t; the
    sum is multiplied by t / (2^20 output_scale). Each product is rounded as gemmlowp does
    (qnn_ops.rounding, "tflite"); the zero point is added and the result clamped. Where TFLite's
    own code is undefined, because t / output_scale exceeds 2^20, the result saturates. Of int16
    the shift is by 15 bits.

    With arithmetic "onnxruntime", that of QLinearAdd on x86: a sum of the raw values by two fused
    multiply-adds in float32, rounded half to even; see qnn_ops.onnxruntime.
    """
    if is_onnxruntime(attrs):
        return sum_onnxruntime(attrs, lhs, rhs)
    return sum_reference(attrs, lhs, rhs, 1)


quantized_add.overflow_rule(sum_overflow)
