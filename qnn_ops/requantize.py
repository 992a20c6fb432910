"""From one quantization to another, in integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.accumulator_bounds import Bounds, check_scaled
from qnn_ops.attributes import (
    Scale,
    ZeroPoint,
    bounds_attr,
    dtype_range,
    int_attr,
    per_axis,
    scale_attr,
    zero_point_attr,
)
from qnn_ops.checks import (
    QUANTIZED,
    ROUNDINGS,
    check_axis,
    check_bounds,
    check_choice,
    check_dtype,
    check_quantization,
)
from qnn_ops.registry import Attrs, Known, TensorSpec, operator
from qnn_ops.rounding import check_multiplier, scale_down
from qnn_ops.traits import MOVED_RESULT, Channels, Traits

Array = np.ndarray[Any, Any]


@operator(
    "quantized_data",
    traits=Traits(
        zero_points={"quantized_data": "input_zero_point"},
        moved=MOVED_RESULT,
        keeps=None,
        clamps=True,
        channels=Channels.AXIS,
    ),
)
def requantize(
    quantized_data: relax.Expr,
    input_scale: Scale,
    input_zero_point: ZeroPoint,
    output_scale: float,
    output_zero_point: int,
    out_dtype: str,
    axis: int = -1,
    rounding: str = "tflite",
    out_min: int | None = None,
    out_max: int | None = None,
) -> relax.Call:
    """Express quantized values, or int32 accumulators, in another scale and zero point.

    clamp(round((data - input_zero_point) * input_scale / output_scale) + output_zero_point).
    Source of the arithmetic: TFLite's reference QUANTIZE between integer types; the real
    multiplier is a float64 quotient of the two float32 scales.

    Args:
        quantized_data: int8, uint8, int16 or int32, any shape.
        input_scale: real value of one step of the data, or one per channel along ``axis``.
        input_zero_point: the data's value that means 0, or one per channel.
        output_scale: real value of one step of the result.
        output_zero_point: the result's value that means 0.
        out_dtype: int8, uint8, int16 or int32.
        axis: of the channels.
        rounding: "tflite", "upward", "float32" or "float64"; see qnn_ops.rounding.
        out_min: lowest value of the result; default: the dtype's.
        out_max: highest value of the result; default: the dtype's.

    Returns:
        A call whose result has the data's shape and ``out_dtype``.

    Raises:
        QnnError: if a dtype, the axis or a quantization does not fit.
    """
    low, high = bounds_attr(out_dtype, out_min, out_max)
    return requantize.call(
        [quantized_data],
        input_scale=scale_attr(input_scale),
        input_zero_point=zero_point_attr(input_zero_point),
        output_scale=scale_attr(output_scale),
        output_zero_point=zero_point_attr(output_zero_point),
        out_dtype=out_dtype,
        axis=int_attr("axis", axis),
        rounding=rounding,
        out_min=low,
        out_max=high,
    )


@requantize.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_dtype("quantized_data", data.dtype, (*QUANTIZED, "int16", "int32"))
    channels = data.shape[check_axis(attrs.axis, len(data.shape))] if data.shape else None
    check_quantization("input", attrs.input_scale, attrs.input_zero_point, data.dtype, channels)
    check_quantization("output", attrs.output_scale, attrs.output_zero_point, attrs.out_dtype)
    check_bounds(attrs.out_dtype, attrs.out_min, attrs.out_max)
    check_choice("rounding", attrs.rounding, ROUNDINGS)
    check_multiplier(np.asarray(attrs.input_scale) / attrs.output_scale, attrs.rounding)
    return TensorSpec(data.shape, attrs.out_dtype)


@requantize.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    centred = data.astype(np.int64) - per_axis(attrs.input_zero_point, attrs.axis, data.ndim)
    multiplier = per_axis(attrs.input_scale, attrs.axis, data.ndim) / attrs.output_scale
    return scale_down(
        centred.astype(np.int32),
        multiplier,
        attrs.rounding,
        attrs.output_zero_point,
        (attrs.out_min, attrs.out_max),
        attrs.out_dtype,
    )


@requantize.overflow_rule
def _overflow(attrs: Attrs, _known: Known, data: TensorSpec) -> None:
    # Of any int32 at all nothing is known: what leaves int32 wraps, as in LiteRT.
    if attrs.rounding != "tflite" or data.dtype == "int32":
        return
    low, high = dtype_range(data.dtype)
    points = np.asarray(attrs.input_zero_point, np.int64)
    multiplier = np.asarray(attrs.input_scale) / attrs.output_scale
    check_scaled(
        Bounds.of(low - points, high - points), multiplier, "tflite", attrs.output_zero_point
    )
