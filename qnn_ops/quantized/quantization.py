"""Quantizes real numbers, dequantizes integers, and changes the quantization of integers."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

import numpy as np

from qnn_ops.arithmetic.accumulator_bounds import Bounds, check_scaled
from qnn_ops.arithmetic.fixed_point import is_number, round_half_away
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME, quantize_onnxruntime
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arithmetic.rounding import ROUNDINGS, check_multiplier, scale_result
from qnn_ops.arithmetic.xnnpack import XNNPACK, quantize_xnnpack
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import LITERT, dtype_range, per_axis
from qnn_ops.dialect.checks import (
    check_axis,
    check_bounds,
    check_dtype,
    check_quantization,
    check_stated_multiplier,
)
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec, operator
from qnn_ops.dialect.traits import OF_DATA, Channels, Traits, fixed, moving, rescaling
from qnn_ops.errors import QnnError


@operator(
    traits=Traits(
        zero_points={}, moved=moving("zero_point"), keeps=None, clamps=False, channels=Channels.AXIS
    ),
    overflows=False,
)
def quantize(
    data: declared.Floats,
    scale: declared.ScaleOrScales,
    zero_point: declared.PointOrPoints,
    out_dtype: declared.Text,
    axis: declared.Axis = -1,
    *,
    multiplier: declared.Multiplier = None,
    arithmetic: declared.Arithmetic = "tflite",
) -> None:
    """Quantize real numbers: clamp(round(data / scale) + zero_point).

    Source of the arithmetic: TFLite's reference QUANTIZE from float: a float32 division, rounded
    half away from zero. A ``multiplier`` is that of MXNet's quantize_v2 and oneDNN: its float32
    product with the data is rounded half to even. Arithmetic "onnxruntime" is that of
    QuantizeLinear: a float32 division, rounded half to even. Arithmetic "xnnpack" is a float32
    product with the scale's float32 reciprocal, rounded half to even.

    Args:
        data: float32, any shape. NaN has no integer and gives the zero point; with arithmetic
            "onnxruntime" the lowest one, with "xnnpack" the highest.
        out_dtype: int8, uint8, int16 or int32.
        multiplier: how many steps a unit of the data is, or one number per channel. The data is
            multiplied by it, for frameworks that do not divide by ``scale``.
        arithmetic: "tflite", "onnxruntime" or "xnnpack"; only the first takes a ``multiplier``.

    Returns:
        A call whose result has the data's shape and ``out_dtype``.
    """


@quantize.type_rule
def _quantize_type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    channels = data.shape[check_axis(attrs.axis, len(data.shape))] if data.shape else None
    check_quantization("{}", attrs.scale, attrs.zero_point, attrs.out_dtype, channels)
    check_stated_multiplier(attrs, channels)
    if attrs.arithmetic != LITERT and (hasattr(attrs, "multiplier") or attrs.out_dtype == "int32"):
        raise QnnError(f"arithmetic {attrs.arithmetic!r} has no multiplier, and gives 8 or 16 bits")
    return TensorSpec(data.shape, attrs.out_dtype)


def _along_axis(attrs: Attrs, data: Array) -> tuple[Array, Array]:
    """Return scale and zero point, shaped to broadcast with the data."""
    scale, zero_point = (
        per_axis(values, attrs.axis, data.ndim) for values in (attrs.scale, attrs.zero_point)
    )
    return scale, zero_point


def _quantize_by(rule: Callable[..., Array], attrs: Attrs, data: Array) -> Array:
    return rule(data, *_along_axis(attrs, data), attrs.out_dtype)


quantize.computed_by(ONNXRUNTIME, partial(_quantize_by, quantize_onnxruntime))
quantize.computed_by(XNNPACK, partial(_quantize_by, quantize_xnnpack))


@quantize.reference
def _quantize_reference(attrs: Attrs, data: Array) -> Array:
    scale, zero_point = _along_axis(attrs, data)
    low, high = dtype_range(attrs.out_dtype)
    if hasattr(attrs, "multiplier"):
        factor = per_axis(attrs.multiplier, attrs.axis, data.ndim).astype(np.float32)
        with np.errstate(over="ignore"):  # an infinite product saturates like any large one
            steps = np.rint(data * factor)
        if attrs.out_dtype != "int32":
            # float32 has all of these integers. A clamp in float32 needs no wider dtype.
            steps = np.where(is_number(steps), steps, np.float32(0))
            ends = ((end - zero_point).astype(np.float32) for end in (low, high))
            whole = np.clip(steps, *ends).astype(np.int32)
            return (whole + zero_point.astype(np.int32)).astype(attrs.out_dtype)
        rounded_steps = steps
    else:
        steps = data / scale.astype(np.float32)
        rounded_steps = round_half_away(steps)
    whole = np.where(is_number(steps), rounded_steps, np.float32(0))
    # This is far outside every integer dtype, and still an exact int64.
    integers = np.clip(whole, -(2.0**40), 2.0**40).astype(np.int64) + zero_point.astype(np.int64)
    return np.clip(integers, low, high).astype(attrs.out_dtype)


@operator(traits=fixed(Channels.AXIS), overflows=False)
def dequantize(
    quantized_data: declared.Quantized,
    scale: declared.ScaleOrScales,
    zero_point: declared.PointOrPoints,
    out_dtype: declared.Text = "float32",
    axis: declared.Axis = -1,
) -> None:
    """Return the real numbers that quantized values stand for: scale * (data - zero_point).

    Source of the arithmetic: TFLite's reference DEQUANTIZE: an integer difference, then one
    float32 product.

    Args:
        quantized_data: int8, uint8, int16 or int32, any shape.
        out_dtype: float32.

    Returns:
        A call whose result is float32 of the data's shape.
    """


@dequantize.type_rule
def _dequantize_type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_dtype("out_dtype", attrs.out_dtype, ("float32",))
    channels = data.shape[check_axis(attrs.axis, len(data.shape))] if data.shape else None
    check_quantization("{}", attrs.scale, attrs.zero_point, data.dtype, channels)
    return TensorSpec(data.shape, attrs.out_dtype)


@dequantize.reference
def _dequantize_reference(attrs: Attrs, data: Array) -> Array:
    zero_point = per_axis(attrs.zero_point, attrs.axis, data.ndim).astype(np.int64)
    steps = (data.astype(np.int64) - zero_point).astype(np.float32)
    scale = per_axis(attrs.scale, attrs.axis, data.ndim).astype(np.float32)
    return rounded(steps * scale)


@operator(traits=rescaling(OF_DATA, Channels.AXIS, clamps=True))
def requantize(
    quantized_data: declared.Quantized,
    input_scale: declared.ScaleOrScales,
    input_zero_point: declared.PointOrPoints,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    axis: declared.Axis = -1,
    rounding: Annotated[str, declared.choice(*ROUNDINGS)] = "tflite",
    out_min: declared.OutMin = None,
    out_max: declared.OutMax = None,
) -> None:
    """Express quantized values, or int32 accumulators, in another scale and zero point.

    clamp(round((data - input_zero_point) * input_scale / output_scale) + output_zero_point).
    Source of the arithmetic: TFLite's reference QUANTIZE between integer types; the real
    multiplier is a float64 quotient of the two float32 scales.

    Args:
        quantized_data: int8, uint8, int16 or int32, any shape.
        input_scale: real value of one step of the data, or one per channel along ``axis``.
        input_zero_point: the data's value that means 0, or one per channel.
        out_dtype: int8, uint8, int16 or int32.
        rounding: "tflite", "upward", "float32" or "float64"; see qnn_ops.arithmetic.rounding.
        out_min: lowest value of the result; default: the dtype's.

    Returns:
        A call whose result has the data's shape and ``out_dtype``.
    """


@requantize.type_rule
def _requantize_type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    channels = data.shape[check_axis(attrs.axis, len(data.shape))] if data.shape else None
    check_quantization("input", attrs.input_scale, attrs.input_zero_point, data.dtype, channels)
    check_quantization("output", attrs.output_scale, attrs.output_zero_point, attrs.out_dtype)
    check_bounds(attrs.out_dtype, attrs.out_min, attrs.out_max)
    check_multiplier(np.asarray(attrs.input_scale) / attrs.output_scale, attrs.rounding)
    return TensorSpec(data.shape, attrs.out_dtype)


@requantize.reference
def _requantize_reference(attrs: Attrs, data: Array) -> Array:
    points = per_axis(attrs.input_zero_point, attrs.axis, data.ndim).astype(np.int32)
    multiplier = per_axis(attrs.input_scale, attrs.axis, data.ndim) / attrs.output_scale
    return scale_result(attrs, data.astype(np.int32) - points, multiplier, attrs.rounding)


@requantize.overflow_rule
def _overflow(attrs: Attrs, _known: Known, data: TensorSpec) -> None:
    # int32 data may be anything. Values that leave int32 wrap, as in LiteRT.
    if attrs.rounding != "tflite" or data.dtype == "int32":
        return
    low, high = dtype_range(data.dtype)
    points = np.asarray(attrs.input_zero_point, np.int64)
    multiplier = np.asarray(attrs.input_scale) / attrs.output_scale
    check_scaled(
        Bounds.of(low - points, high - points), multiplier, "tflite", attrs.output_zero_point
    )
