"""The mean of quantized tensors."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.accumulator_bounds import Bounds, centred_bounds, check_fixed_point
from qnn_ops.arithmetic.fixed_point import quantize_multiplier, scaled_twice
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME, mean_onnxruntime
from qnn_ops.arithmetic.xnnpack import XNNPACK, mean_xnnpack
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.checks import check_axis, check_tensors
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec, operator
from qnn_ops.dialect.traits import OF_DATA, Channels, rescaling
from qnn_ops.errors import QnnError

# The sum of this many values fits int32, with or without their zero points.
_MOST_VALUES = {"int8": 2**23, "uint8": 2**23, "int16": 2**16 - 1}

_MOST_SHIFT = 15

LARGEST_SUM = 2**16 - 1
"""Larger sums saturate any mean whose multiplier shifts to the left."""


@operator(traits=rescaling(OF_DATA, Channels.REDUCED_AXES, clamps=False))
def quantized_mean(
    quantized_data: relax.Expr,
    axis: declared.Axes,
    keepdims: declared.Flag,
    input_scale: declared.InputScale,
    input_zero_point: declared.InputZeroPoint,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    *,
    arithmetic: declared.Arithmetic = "tflite",
) -> None:
    """Average a quantized tensor along axes.

    Source of the arithmetic: TFLite's reference MEAN. The sum of n values, less their zero points,
    is multiplied by input_scale / (output_scale * n), rounded as gemmlowp does
    (qnn_ops.arithmetic.rounding, "tflite"); the output zero point is added and the result clamped.
    The multiplier is the quotient of the scales in fixed point, divided by n in integers. If
    output_scale is so small that TFLite's own code overflows int32, the result saturates.

    Arithmetic "onnxruntime" is that of QLinearGlobalAveragePool: the multiplier is a float32
    quotient by the float32 product output_scale * n, and scales as rounding "float32" does.
    Arithmetic "xnnpack" rounds after it adds both zero points; see qnn_ops.arithmetic.xnnpack.

    Args:
        quantized_data: int8, uint8 or int16, any shape.
        axis: one axis or several; negative ones count from the last. None at all (an empty
            list) averages nothing and only changes the scale.
        keepdims: whether averaged axes stay, with size 1.
        out_dtype: int8 or uint8; int16 for int16 data.
        arithmetic: "tflite"; "onnxruntime" or "xnnpack" for 8 bits.

    Returns:
        A call whose result has ``out_dtype`` and the data's shape without the averaged axes.

    Raises:
        QnnError: if an axis, a dtype or a quantization does not fit, or there are no values to
        average, or more than 2^23, for int16 2^16 - 1 (raised when the type is inferred).
    """


@quantized_mean.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_tensors(attrs, input=data)
    axes, count = averaged(attrs, data.shape)
    most = _MOST_VALUES[data.dtype]
    if not 1 <= count <= most:
        raise QnnError(f"a mean is of 1 to {most} values, got {count} from {data.shape}")
    if data.dtype == "int16" and stated_multiplier_of(attrs, count)[1] > _MOST_SHIFT:
        raise QnnError(f"output_scale {attrs.output_scale:.4g} is too small for a mean of int16")
    shape = (
        1 if index in axes else size
        for index, size in enumerate(data.shape)
        if attrs.keepdims or index not in axes
    )
    return TensorSpec(tuple(shape), attrs.out_dtype)


def averaged(attrs: Attrs, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Return the averaged axes, counted from the first and each once, and their size."""
    axes = tuple(sorted({check_axis(axis, len(shape)) for axis in attrs.axis}))
    return axes, math.prod(shape[axis] for axis in axes)


def multiplier_of(attrs: Attrs, count: int) -> tuple[int, int]:
    """Return the fixed-point multiplier and shift that turn a sum of ``count`` values into a mean.

    A shift to the left is kept to 15 bits, where every sum but 0 saturates an 8-bit result.
    """
    multiplier, shift = stated_multiplier_of(attrs, count)
    return multiplier, min(shift, _MOST_SHIFT)


def stated_multiplier_of(attrs: Attrs, count: int) -> tuple[int, int]:
    """Compute a mean's multiplier and shift from its scales; the left shift has no limit."""
    q, exponent = (
        int(part) for part in quantize_multiplier(attrs.input_scale / attrs.output_scale)
    )
    # The shift adds as many bits as the division by the count removes.
    shift = min(count.bit_length() - 1, 32, 31 + exponent)
    return (q << shift) // count, exponent - shift


def _sums(attrs: Attrs, data: Array) -> tuple[Array, int]:
    """Return the sums of the values as they are, and the number of values in each."""
    axes, count = averaged(attrs, data.shape)
    sums = data.astype(np.int32)
    if axes:
        sums = sums.sum(axis=axes, keepdims=attrs.keepdims, dtype=np.int32)
    return sums, count


def _averaged_by(rule: Callable[..., Array], attrs: Attrs, data: Array) -> Array:
    return rule(attrs, str(data.dtype), *_sums(attrs, data))


quantized_mean.computed_by(ONNXRUNTIME, partial(_averaged_by, mean_onnxruntime))
quantized_mean.computed_by(XNNPACK, partial(_averaged_by, mean_xnnpack))


@quantized_mean.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    sums, count = _sums(attrs, data)
    sums = sums - count * attrs.input_zero_point
    multiplier, shift = multiplier_of(attrs, count)
    if shift > 0:
        sums = np.clip(sums, -LARGEST_SUM, LARGEST_SUM)
    mean = scaled_twice(sums, multiplier, shift) + attrs.output_zero_point
    return np.clip(mean, *dtype_range(attrs.out_dtype)).astype(attrs.out_dtype)


@quantized_mean.overflow_rule
def _overflow(attrs: Attrs, _known: Known, data: TensorSpec) -> None:
    _, count = averaged(attrs, data.shape)
    sums = centred_bounds(data.dtype, attrs.input_zero_point) * Bounds.of(count, count)
    check_fixed_point(sums, *stated_multiplier_of(attrs, count), attrs.output_zero_point)
