"""Softmax of quantized tensors."""

import math

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME, check_softmax, softmax_onnxruntime
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import LITERT, dtype_range
from qnn_ops.dialect.checks import check_axis, check_tensors
from qnn_ops.dialect.expressions import take
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec, operator
from qnn_ops.dialect.traits import OF_DATA, Channels, rescaling
from qnn_ops.errors import QnnError
from qnn_ops.tables.softmax import (
    LARGEST_SUM,
    OUTPUT_SCALE_INT16,
    exp_table,
    exp_table_int16,
    probabilities_int16,
    product,
    reciprocal,
    scaling_int16,
    sum_term,
)

OUTPUT_SCALE = 1 / 256
OUTPUT_SCALE_WIDE = 1 / 65536
"""The scale of int16 results of 8-bit data."""


@operator(traits=rescaling(OF_DATA, Channels.AXIS, clamps=False))
def quantized_softmax(
    quantized_data: relax.Expr,
    input_scale: declared.InputScale,
    input_zero_point: declared.InputZeroPoint,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    beta: declared.Float = 1.0,
    axis: declared.Int = -1,
    *,
    arithmetic: declared.Arithmetic = "tflite",
) -> None:
    """Turn quantized logits into probabilities: exp(beta * x) over its sum along an axis.

    The result's scale is 1/256 and its zero point the lowest value of its dtype, so that it covers
    [0, 1). An int16 result of 8-bit data has the scale 2^-16, one of int16 data has 2^-15 and the
    zero point 0.

    Source of the arithmetic: TFLite's reference SOFTMAX, all in fixed point (see
    qnn_ops.tables.softmax): each value's distance from the row's maximum in Q5.26, its
    exponential in Q0.31, their sum in Q12.19, and the sum's reciprocal by Newton's division. TFLite
    stops the process if the sum reaches 512, which takes at least 512 values about as large as the
    maximum. Here the same formula goes on, and rounds every probability to 0. For int16 the
    exponentials and the reciprocal come from tables: see qnn_ops.tables.softmax.

    Arithmetic "onnxruntime" is that of QLinearSoftmax, with any scale and zero point of the result.
    It adds a float32 table's exponentials one after the other in float32; quotients are float64.
    See qnn_ops.arithmetic.onnxruntime.

    Args:
        quantized_data: int8, uint8 or int16, any shape of at least one dimension.
        input_zero_point: the data's value that means 0; it has no influence on the result.
        output_scale: 1/256, or as above (TFLite's tolerance of a thousandth applies).
        output_zero_point: -128 for int8, 0 for uint8; as above for int16.
        out_dtype: int8, uint8 or int16; int16 for int16 data.
        beta: a positive factor of the data before the exponential.
        axis: the axis along which the probabilities add up to 1.
        arithmetic: "tflite"; or "onnxruntime" for 8 bits, the last axis and a beta of 1.

    Returns:
        A call whose result has the data's shape and ``out_dtype``.

    Raises:
        QnnError: if the axis, a dtype or a quantization does not fit, beta is not positive, or
            there is nothing along the axis (raised when the call's type is inferred).
    """


@quantized_softmax.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_tensors(attrs, may_widen=data.dtype != "int16", input=data)
    _CHECKS[attrs.arithmetic](attrs, data)
    return TensorSpec(data.shape, attrs.out_dtype)


def _check_litert(attrs: Attrs, data: TensorSpec) -> None:
    scale, point = output_quantization(data.dtype, attrs.out_dtype)
    if abs(attrs.output_scale - scale) > 0.001 * scale or attrs.output_zero_point != point:
        raise QnnError(
            f"the output of a softmax in {attrs.out_dtype} must have scale 1/{1 / scale:g} and "
            f"zero point {point}, got {attrs.output_scale} and {attrs.output_zero_point}"
        )
    if not (math.isfinite(attrs.beta) and attrs.beta > 0):
        raise QnnError(f"beta must be positive and finite, got {attrs.beta}")
    if data.shape[check_axis(attrs.axis, len(data.shape))] == 0:
        raise QnnError(f"there must be values along axis {attrs.axis}, got shape {data.shape}")


def _check_onnxruntime(attrs: Attrs, data: TensorSpec) -> None:
    axis = check_axis(attrs.axis, len(data.shape))
    if axis != len(data.shape) - 1 or attrs.beta != 1 or data.shape[axis] == 0:
        raise QnnError(
            "a softmax of arithmetic 'onnxruntime' has values along the last axis and beta 1, got "
            f"shape {data.shape}, axis {attrs.axis} and beta {attrs.beta}"
        )
    check_softmax(attrs.output_scale)


_CHECKS = {LITERT: _check_litert, ONNXRUNTIME: _check_onnxruntime}


def output_quantization(dtype: str, out_dtype: str) -> tuple[float, int]:
    """Return scale and zero point of a softmax's result, by the dtypes of data and result."""
    if dtype == "int16":
        return OUTPUT_SCALE_INT16, 0
    scale = OUTPUT_SCALE_WIDE if out_dtype == "int16" else OUTPUT_SCALE
    return scale, dtype_range(out_dtype)[0]


def _distance(attrs: Attrs, data: Array) -> Array:
    """Return how far each value is below the largest one along the axis."""
    largest = data.max(attrs.axis % data.ndim, keepdims=True)
    return largest.astype(np.int32) - data.astype(np.int32)


quantized_softmax.computed_by(
    ONNXRUNTIME, lambda attrs, data: softmax_onnxruntime(attrs, _distance(attrs, data))
)


@quantized_softmax.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    axis, distance = attrs.axis % data.ndim, _distance(attrs, data)
    if data.dtype == np.int16:
        wide = exp_table_int16(attrs.input_scale, attrs.beta).astype(np.int64)
        exponentials = take(wide, distance)
        total = exponentials.sum(axis=axis, dtype=np.int64, keepdims=True)
        return probabilities_int16(exponentials, total)
    # A distance of 8-bit values is one of 256: a table has the exponential of each.
    table = exp_table(attrs.input_scale, attrs.beta)
    terms = take(sum_term(table).astype(np.int64), distance)
    total = terms.sum(axis=axis, dtype=np.int64, keepdims=True)
    fraction, bits = reciprocal(np.minimum(total, LARGEST_SUM))
    # Q0.31 less the bits of the sum, rounded to the 8 or 16 bits of the result.
    result_bits = np.iinfo(attrs.out_dtype).bits
    down = bits + (31 - result_bits)
    exponentials = take(table.astype(np.int64), distance)
    steps = (product(fraction, exponentials) + (np.int64(1) << (down - 1))) >> down
    most = (1 << result_bits) - 1
    return (np.minimum(steps, most) + attrs.output_zero_point).astype(attrs.out_dtype)


@quantized_softmax.overflow_rule
def _overflow(attrs: Attrs, _known: Known, data: TensorSpec) -> None:
    if data.dtype == "int16":
        _check_int16(attrs, data)
        return
    # The sum of exponentials, 2^19 each, is 64 bits wide here. 512 of them end LiteRT's process,
    # but not this one.
    if attrs.beta * attrs.input_scale * 2.0**26 <= 1:
        raise QnnError(
            f"beta * input_scale must exceed 2^-26, below which TFLite has no fixed point for it, "
            f"got {attrs.beta * attrs.input_scale:.4g}"
        )


def _check_int16(attrs: Attrs, data: TensorSpec) -> None:
    """Raise if TFLite's int32 does not hold a scaled distance, or the sum."""
    if scaling_int16(attrs.input_scale, attrs.beta)[1] > 15:
        raise QnnError(f"input_scale {attrs.input_scale:.4g} times beta is too large for TFLite")
    if data.shape[attrs.axis] > 2**16:
        raise QnnError(f"at most {2**16} values along the axis, got {data.shape[attrs.axis]}")
