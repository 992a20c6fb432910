"""Rectifiers of quantized tensors that are not fused into another operator."""

from typing import Annotated

import numpy as np
from tvm import relax

from qnn_ops.arithmetic.accumulator_bounds import centred_bounds, check_activation, check_scaled
from qnn_ops.arithmetic.activations import activation_range
from qnn_ops.arithmetic.fixed_point import float32_quotient
from qnn_ops.arithmetic.rounding import check_multiplier, scale_down
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.checks import check_tensors
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec, operator
from qnn_ops.dialect.traits import OF_DATA, Channels, rescaling

KINDS = ("relu", "relu6", "relu_0_to_1", "relu_n1_to_1")


@operator(traits=rescaling(OF_DATA, Channels.ANYWHERE, clamps=False))
def quantized_relu(
    quantized_data: relax.Expr,
    input_scale: declared.InputScale,
    input_zero_point: declared.InputZeroPoint,
    output_scale: declared.OutputScale,
    output_zero_point: declared.OutputZeroPoint,
    out_dtype: declared.Text,
    kind: Annotated[str, declared.choice(*KINDS)] = "relu",
) -> None:
    """Express quantized values in the output's scale and clamp them to the activation's range.

    clamp(round((data - input_zero_point) * input_scale / output_scale) + output_zero_point) with
    gemmlowp's two roundings. Source of the arithmetic: TFLite's RELU, RELU6, RELU_0_TO_1 and
    RELU_N1_TO_1. Their multiplier is a float32 quotient, unlike that of ``requantize``.

    Args:
        quantized_data: int8, uint8 or int16, any shape.
        out_dtype: int8 or uint8; int16 for int16 data.
        kind: "relu" (from 0), "relu6" (0 to 6), "relu_0_to_1" or "relu_n1_to_1" (-1 to 1).

    Returns:
        A call whose result has the data's shape and ``out_dtype``.
    """


@quantized_relu.type_rule
def _type(attrs: Attrs, data: TensorSpec) -> TensorSpec:
    check_tensors(attrs, input=data)
    check_multiplier(relu_multiplier(attrs), "tflite")
    return TensorSpec(data.shape, attrs.out_dtype)


def relu_multiplier(attrs: Attrs) -> float:
    """Compute the output steps of one input step."""
    return float32_quotient((attrs.input_scale,), attrs.output_scale)


def relu_bounds(attrs: Attrs) -> tuple[int, int]:
    """Return the clamp range of the result."""
    return activation_range(
        attrs.kind, attrs.output_scale, attrs.output_zero_point, attrs.out_dtype
    )


@quantized_relu.reference
def _reference(attrs: Attrs, data: Array) -> Array:
    multiplier, bounds, point = relu_multiplier(attrs), relu_bounds(attrs), attrs.output_zero_point
    if multiplier == 1:
        # Rescaling by exactly one changes nothing. 16 bits hold the difference of two zero points.
        moved = data.astype(np.int16) + (point - attrs.input_zero_point)
        return np.clip(moved, *bounds).astype(attrs.out_dtype)
    centred = data.astype(np.int32) - attrs.input_zero_point
    return scale_down(centred, multiplier, "tflite", point, bounds, attrs.out_dtype)


@quantized_relu.overflow_rule
def _overflow(attrs: Attrs, _known: Known, data: TensorSpec) -> None:
    centred = centred_bounds(data.dtype, attrs.input_zero_point)
    check_scaled(centred, relu_multiplier(attrs), "tflite", attrs.output_zero_point)
    check_activation(attrs.kind, attrs.output_scale, attrs.output_zero_point)
