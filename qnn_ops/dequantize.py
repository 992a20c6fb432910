"""From quantized integers to the real numbers they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.attributes import Scale, ZeroPoint, int_attr, per_axis, scale_attr, zero_point_attr
from qnn_ops.checks import QUANTIZED, check_axis, check_dtype, check_quantization
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import Channels, Traits

Array = np.ndarray[Any, Any]


@operator(
    "quantized_data",
    traits=Traits(
        zero_points={},
        moved=None,
        keeps=None,
        clamps=False,
        channels=Channels.AXIS,
    ),
)
def dequantize(
    quantized_data: relax.Expr,
    scale: Scale,
    zero_point: ZeroPoint,
    out_dtype: str = "float32",
    axis: int = -1,
) -> relax.Call:
    """Give the real numbers that quantized values stand for: scale * (data - zero_point).

    Source of the arithmetic: TFLite's reference DEQUANTIZE: an integer difference, then one
    float32 product.

    Args:
        quantized_data: int8, uint8, int16 or int32, any shape.
        scale: real value of one step, or one per channel along ``axis``.
        zero_point: the integer that means 0, or one per channel.
        out_dtype: float32.
        axis: of the channels.

    Returns:
        A call whose result is float32 of the data's shape.

    Raises:
        QnnError: if a dtype, the axis or the quantization does not fit.
    """
    return dequantize.call(
        [quantized_data],
        scale=scale_attr(scale),
        zero_point=zero_point_attr(zero_point),
        out_dtype=out_dtype,
        axis=int_attr("axis", axis),
    )


@dequantize.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_dtype("quantized_data", data.dtype, (*QUANTIZED, "int16", "int32"))
    check_dtype("out_dtype", attrs.out_dtype, ("float32",))
    channels = data.shape[check_axis(attrs.axis, len(data.shape))] if data.shape else None
    check_quantization("{}", attrs.scale, attrs.zero_point, data.dtype, channels)
    return TensorSpec(data.shape, attrs.out_dtype)


dequantize.overflow_rule(cannot_overflow)


@dequantize.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    zero_point = per_axis(attrs.zero_point, attrs.axis, data.ndim)
    steps = (data.astype(np.int64) - zero_point).astype(np.float32)
    scale = per_axis(attrs.scale, attrs.axis, data.ndim).astype(np.float32)
    return np.asarray(steps * scale)
