"""From real numbers to quantized integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.arithmetic import clamp_to, round_half_away
from qnn_ops.attributes import (
    Scale,
    ZeroPoint,
    dtype_range,
    int_attr,
    per_axis,
    scale_attr,
    zero_point_attr,
)
from qnn_ops.checks import check_axis, check_dtype, check_quantization
from qnn_ops.registry import Attrs, TensorSpec, operator

Array = np.ndarray[Any, Any]


@operator("data")
def quantize(
    data: relax.Expr, scale: Scale, zero_point: ZeroPoint, out_dtype: str, axis: int = -1
) -> relax.Call:
    """Quantize real numbers: clamp(round(data / scale) + zero_point).

    Source of the arithmetic: TFLite's reference QUANTIZE from float: a float32 division, rounded
    half away from zero.

    Args:
        data: float32, any shape. NaN has no integer and gives the zero point.
        scale: real value of one step, or one per channel along ``axis``.
        zero_point: the integer that means 0, or one per channel.
        out_dtype: int8, uint8, int16 or int32.
        axis: of the channels.

    Returns:
        A call whose result has the data's shape and ``out_dtype``.

    Raises:
        QnnError: if a dtype, the axis or the quantization does not fit.
    """
    return quantize.call(
        [data],
        scale=scale_attr(scale),
        zero_point=zero_point_attr(zero_point),
        out_dtype=out_dtype,
        axis=int_attr("axis", axis),
    )


@quantize.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_dtype("data", data.dtype, ("float32",))
    channels = data.shape[check_axis(attrs.axis, len(data.shape))] if data.shape else None
    check_quantization("{}", attrs.scale, attrs.zero_point, attrs.out_dtype, channels)
    return TensorSpec(data.shape, attrs.out_dtype)


@quantize.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    scale = per_axis(attrs.scale, attrs.axis, data.ndim).astype(np.float32)
    steps = np.nan_to_num(round_half_away(data / scale).astype(np.float64))
    # Far outside every integer dtype, and still an exact int64.
    steps = np.clip(steps, -(2.0**40), 2.0**40).astype(np.int64)
    zero_point = per_axis(attrs.zero_point, attrs.axis, data.ndim)
    return clamp_to(steps + zero_point, attrs.out_dtype, *dtype_range(attrs.out_dtype))
