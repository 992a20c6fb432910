"""Sum of quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.elementwise import elementwise_attrs, elementwise_type, sum_reference
from qnn_ops.registry import Attrs, TensorSpec, operator

Array = np.ndarray[Any, Any]


@operator("lhs", "rhs")
def quantized_add(
    lhs: relax.Expr,
    rhs: relax.Expr,
    lhs_scale: float,
    lhs_zero_point: int,
    rhs_scale: float,
    rhs_zero_point: int,
    output_scale: float,
    output_zero_point: int,
    out_dtype: str,
    out_min: int | None = None,
    out_max: int | None = None,
) -> relax.Call:
    """Add two quantized tensors.

    Source of the arithmetic: TFLite's reference ADD. With t twice the larger operand scale, both
    operands, less their zero points, are shifted left by 20 bits and multiplied by scale / t; the
    sum is multiplied by t / (2^20 output_scale). Each product is rounded as gemmlowp does
    (qnn_ops.rounding, "tflite"); the zero point is added and the result clamped. Where TFLite's
    own code is undefined, because t / output_scale exceeds 2^20, the result saturates.

    Args:
        lhs: int8 or uint8, any shape.
        rhs: int8 or uint8, a shape that broadcasts with that of ``lhs`` as in numpy.
        lhs_scale: real value of one step of ``lhs``.
        lhs_zero_point: the value of ``lhs`` that means 0.
        rhs_scale: real value of one step of ``rhs``.
        rhs_zero_point: the value of ``rhs`` that means 0.
        output_scale: real value of one step of the result.
        output_zero_point: the result's value that means 0.
        out_dtype: int8 or uint8.
        out_min: lowest value of the result (a fused activation); default: the dtype's.
        out_max: highest value of the result; default: the dtype's.

    Returns:
        A call whose result has the broadcast shape and ``out_dtype``.

    Raises:
        QnnError: if the shapes do not broadcast or a dtype or quantization does not fit (raised
            when the call's type is inferred).
    """
    return quantized_add.call(
        [lhs, rhs],
        **elementwise_attrs(
            lhs_scale,
            lhs_zero_point,
            rhs_scale,
            rhs_zero_point,
            output_scale,
            output_zero_point,
            out_dtype,
            out_min,
            out_max,
        ),
    )


@quantized_add.type_rule
def _type(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    return elementwise_type(attrs, lhs, rhs)


@quantized_add.reference
def _reference(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    return sum_reference(attrs, lhs, rhs, 1)
