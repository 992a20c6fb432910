"""The concatenation of quantized tensors that may differ in scale and zero point."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.accumulator_bounds import centred_bounds, check_scaled
from qnn_ops.arithmetic.fixed_point import clamp_to, round_half_away
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME, tabulated
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.attributes import ACTIVATIONS, LITERT, dtype_range
from qnn_ops.dialect.checks import check_arithmetic, check_axis, check_dtype, check_quantization
from qnn_ops.dialect.expressions import take
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec, operator
from qnn_ops.dialect.traits import MOVED_RESULT, Channels, Traits, always, moving
from qnn_ops.errors import QnnError


def _moved(attrs: Attrs, dtype: str) -> dict[str, Any]:
    """Move the attributes that change with the result.

    The inputs already have the result's quantization, except in ONNX Runtime's arithmetic. That
    arithmetic converts x less the zero point, whatever the dtype.
    """
    if attrs.arithmetic == ONNXRUNTIME:
        return moving("output_zero_point", "input_zero_points")(attrs, dtype)
    changes = MOVED_RESULT(attrs, dtype)
    count = len(attrs.input_scales)
    return {
        **changes,
        "input_scales": [attrs.output_scale] * count,
        "input_zero_points": [changes["output_zero_point"]] * count,
    }


@operator(
    traits=Traits(zero_points={}, moved=_moved, keeps=always, clamps=False, channels=Channels.AXIS)
)
def quantized_concat(
    quantized_inputs: Sequence[relax.Expr] | relax.Expr,
    input_scales: declared.Scales,
    input_zero_points: declared.ZeroPoints,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    axis: declared.Int = -1,
    *,
    arithmetic: declared.Arithmetic = "tflite",
) -> None:
    """Join quantized tensors along an axis, after each is converted to the output's scale.

    An input with the output's scale and zero point is copied. Any other input becomes
    clamp(round(data * k - input_zero_point * k) + output_zero_point) with k = input_scale * (1 /
    output_scale). Every operation is rounded to float32, and the sum to the nearest integer, ties
    away from zero.

    Source of the arithmetic: TFLite's reference CONCATENATION. Like TFLite, this operator joins
    int8 and int16 tensors only if they have the output's scale and zero point. Arithmetic
    "onnxruntime" is that of QLinearConcat: float32 products scale * (data - zero_point), quantized
    like ``quantize`` in that arithmetic.

    Args:
        quantized_inputs: int8, uint8 or int16 tensors of one dtype and, except for ``axis``, one
            shape; a list of them or an expression of a tuple type.
        input_scales: for each input, real value of one step.
        input_zero_points: for each input, its value that means 0.
        out_dtype: the inputs' dtype.
        axis: the axis to join along.
        arithmetic: "tflite", or "onnxruntime" for 8 bits.

    Returns:
        A call whose result is of ``out_dtype``.
    """


@quantized_concat.type_rule
def _type(attrs: Attrs, inputs: tuple[TensorSpec, ...]) -> TensorSpec:
    if not isinstance(inputs, tuple) or not inputs:
        raise QnnError("quantized_inputs must be at least one tensor, as a tuple")
    counts = (len(inputs), len(attrs.input_scales), len(attrs.input_zero_points))
    if len(set(counts)) != 1:
        raise QnnError(
            "quantized_inputs, input_scales and input_zero_points must be equally many, "
            f"got {counts[0]}, {counts[1]} and {counts[2]}"
        )
    check_dtype("out_dtype", attrs.out_dtype, ACTIVATIONS)
    check_arithmetic(attrs, attrs.out_dtype)
    check_quantization("output", attrs.output_scale, attrs.output_zero_point, attrs.out_dtype)
    rank = len(inputs[0].shape)
    axis = check_axis(attrs.axis, rank)
    for index, spec in enumerate(inputs):
        check_dtype(f"quantized_inputs[{index}]", spec.dtype, (attrs.out_dtype,))
        if len(spec.shape) != rank or any(
            size != wanted
            for place, (size, wanted) in enumerate(zip(spec.shape, inputs[0].shape, strict=True))
            if place != axis
        ):
            raise QnnError(
                f"quantized_inputs[{index}] must have shape {inputs[0].shape} except for axis "
                f"{axis}, got {spec.shape}"
            )
        _check_input_quantization(attrs, index, spec)
    shape = list(inputs[0].shape)
    shape[axis] = sum(spec.shape[axis] for spec in inputs)
    return TensorSpec(tuple(shape), attrs.out_dtype)


def _check_input_quantization(attrs: Attrs, index: int, spec: TensorSpec) -> None:
    scale, zero_point = attrs.input_scales[index], attrs.input_zero_points[index]
    check_quantization(f"input_{{}}s[{index}]", scale, zero_point, spec.dtype)
    converts = spec.dtype == "uint8" or attrs.arithmetic == ONNXRUNTIME
    if not converts and conversion_table(attrs, index) is not None:
        raise QnnError(
            f"{spec.dtype} inputs must have the output's scale {attrs.output_scale} and zero point "
            f"{attrs.output_zero_point}, got {scale} and {zero_point} for quantized_inputs[{index}]"
        )


def conversion_table(attrs: Attrs, index: int) -> Array | None:
    """Tabulate the results of an input's 256 values, lowest first; None if it is copied."""
    data = attrs.input_scales[index], attrs.input_zero_points[index], attrs.out_dtype
    output = attrs.output_scale, attrs.output_zero_point, attrs.out_dtype
    return None if data == output else _CONVERSIONS[attrs.arithmetic](data, output)


def _conversion_litert(data: tuple[float, int, str], output: tuple[float, int, str]) -> Array:
    scale, zero_point, dtype = data
    output_scale, output_zero_point, _ = output
    lowest, highest = dtype_range(dtype)
    values = np.arange(lowest, highest + 1).astype(np.float32)
    with np.errstate(all="ignore"):
        factor = np.float32(scale) * (np.float32(1) / np.float32(output_scale))
        steps = round_half_away(values * factor + np.float32(-zero_point) * factor)
    # This is far outside every 8-bit dtype, and still an exact int64.
    steps = np.clip(np.nan_to_num(steps), -(2.0**40), 2.0**40).astype(np.int64)
    return clamp_to(steps + output_zero_point, dtype)


_CONVERSIONS: dict[str, Callable[..., Array]] = {
    LITERT: _conversion_litert,
    ONNXRUNTIME: tabulated,
}


@quantized_concat.reference
def _reference(attrs: Attrs, inputs: tuple[Array, ...]) -> Array:
    lowest, _ = dtype_range(attrs.out_dtype)

    def converted(index: int, data: Array) -> Array:
        table = conversion_table(attrs, index)
        # There are only 256 values: with a table the processor's float32 does not matter.
        return data if table is None else take(table, data.astype(np.int32) - lowest)

    parts = [converted(index, data) for index, data in enumerate(inputs)]
    return np.concatenate(parts, attrs.axis)


quantized_concat.computed_by(ONNXRUNTIME, _reference)


@quantized_concat.overflow_rule
def _overflow(attrs: Attrs, _known: Known, _inputs: tuple[TensorSpec, ...]) -> None:
    # This, too, is a floating-point product that becomes an int32 before the clamp.
    for scale, zero_point in zip(attrs.input_scales, attrs.input_zero_points, strict=True):
        data = centred_bounds(attrs.out_dtype, zero_point)
        check_scaled(data, scale / attrs.output_scale, "float64", attrs.output_zero_point)
