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
from qnn_ops.checks import check_axis, check_dtype, check_quantization, check_stated_multiplier
from qnn_ops.errors import QnnError
from qnn_ops.onnxruntime import check_arithmetic, is_onnxruntime, quantize_onnxruntime
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import Channels, Traits, moving
from qnn_ops.xnnpack import XNNPACK, is_xnnpack, quantize_xnnpack

Array = np.ndarray[Any, Any]


@operator(
    "data",
    traits=Traits(
        zero_points={},
        moved=moving("zero_point"),
        keeps=None,
        clamps=False,
        channels=Channels.AXIS,
    ),
)
def quantize(
    data: relax.Expr,
    scale: Scale,
    zero_point: ZeroPoint,
    out_dtype: str,
    axis: int = -1,
    *,
    multiplier: Scale | None = None,
    arithmetic: str = "tflite",
) -> relax.Call:
    """Quantize real numbers: clamp(round(data / scale) + zero_point).

    Source of the arithmetic: TFLite's reference QUANTIZE from float: a float32 division, rounded
    half away from zero. With a ``multiplier``, MXNet's quantize_v2 and oneDNN: a float32 product
    with it, rounded half to even. With arithmetic "onnxruntime", QuantizeLinear: a float32
    division, rounded half to even. With arithmetic "xnnpack", a float32 product with the scale's
    float32 reciprocal, rounded half to even.

    Args:
        data: float32, any shape. NaN has no integer and gives the zero point; with arithmetic
            "onnxruntime" the lowest one, with "xnnpack" the highest.
        scale: real value of one step, or one per channel along ``axis``.
        zero_point: the integer that means 0, or one per channel.
        out_dtype: int8, uint8, int16 or int32.
        axis: of the channels.
        multiplier: how many steps a unit of the data is, or one number per channel: what the
            data is multiplied by, where a framework has not the quotient by ``scale`` in mind.
        arithmetic: "tflite", "onnxruntime" or "xnnpack"; only the first takes a ``multiplier``.

    Returns:
        A call whose result has the data's shape and ``out_dtype``.

    Raises:
        QnnError: if a dtype, the axis or the quantization does not fit.
    """
    attrs: dict[str, Any] = {
        "scale": scale_attr(scale),
        "zero_point": zero_point_attr(zero_point),
        "out_dtype": out_dtype,
        "axis": int_attr("axis", axis),
    }
    if multiplier is not None:
        attrs["multiplier"] = scale_attr(multiplier)
    if arithmetic != "tflite":
        attrs["arithmetic"] = arithmetic
    return quantize.call([data], **attrs)


@quantize.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_dtype("data", data.dtype, ("float32",))
    channels = data.shape[check_axis(attrs.axis, len(data.shape))] if data.shape else None
    check_quantization("{}", attrs.scale, attrs.zero_point, attrs.out_dtype, channels)
    check_stated_multiplier(attrs, channels)
    check_arithmetic(attrs, others=(XNNPACK,))
    is_other = is_onnxruntime(attrs) or is_xnnpack(attrs)
    if is_other and (hasattr(attrs, "multiplier") or attrs.out_dtype == "int32"):
        raise QnnError(f"arithmetic {attrs.arithmetic!r} has no multiplier, and gives 8 or 16 bits")
    return TensorSpec(data.shape, attrs.out_dtype)


quantize.overflow_rule(cannot_overflow)


@quantize.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    if is_onnxruntime(attrs):
        scale = per_axis(attrs.scale, attrs.axis, data.ndim)
        zero_point = per_axis(attrs.zero_point, attrs.axis, data.ndim)
        return quantize_onnxruntime(data, scale, zero_point, attrs.out_dtype)
    if is_xnnpack(attrs):
        scale = per_axis(attrs.scale, attrs.axis, data.ndim)
        zero_point = per_axis(attrs.zero_point, attrs.axis, data.ndim)
        return quantize_xnnpack(data, scale, zero_point, attrs.out_dtype)
    steps = np.nan_to_num(_rounded(attrs, data).astype(np.float64))
    # Far outside every integer dtype, and still an exact int64.
    steps = np.clip(steps, -(2.0**40), 2.0**40).astype(np.int64)
    zero_point = per_axis(attrs.zero_point, attrs.axis, data.ndim)
    return clamp_to(steps + zero_point, attrs.out_dtype, *dtype_range(attrs.out_dtype))


def _rounded(attrs: Attrs, data: Array) -> Array:
    """Return the data in steps, rounded to whole ones; float32."""

    def per_channel(values: Any) -> Array:
        return per_axis(values, attrs.axis, data.ndim).astype(np.float32)

    if hasattr(attrs, "multiplier"):
        with np.errstate(over="ignore"):  # an infinite product saturates like any large one
            return np.rint(data * per_channel(attrs.multiplier))
    return round_half_away(data / per_channel(attrs.scale))
