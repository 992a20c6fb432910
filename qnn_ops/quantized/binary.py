"""Quantized operators on two tensors: sum, difference, product, squared difference and PReLU."""

from functools import partial

import numpy as np

from qnn_ops.arithmetic.accumulator_bounds import (
    Bounds,
    centred_bounds,
    check_scaled,
    lifted_beyond_int32,
)
from qnn_ops.arithmetic.fixed_point import float32_quotient, quantize_multiplier, scaled_twice
from qnn_ops.arithmetic.onnxruntime import product_onnxruntime, sum_onnxruntime
from qnn_ops.arithmetic.rounding import scale_result
from qnn_ops.arithmetic.xnnpack import XNNPACK, check_sum, product_xnnpack, sum_xnnpack
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import Attrs, Known, TensorSpec
from qnn_ops.errors import QnnError
from qnn_ops.quantized.elementwise import (
    ElementwiseOperator,
    elementwise_type,
    on_common_scale,
    product_multiplier,
    saturating,
    sum_overflow,
    sum_reference,
)


@partial(ElementwiseOperator, onnxruntime=sum_onnxruntime, xnnpack=sum_xnnpack)
def quantized_add(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Add two quantized tensors.

    Source of the arithmetic: TFLite's reference ADD. With t twice the larger operand scale, both
    operands, less their zero points, are shifted left by 20 bits and multiplied by scale / t; the
    sum is multiplied by t / (2^20 output_scale). Each product is rounded as gemmlowp does
    (qnn_ops.arithmetic.rounding, "tflite"); the zero point is added and the result clamped. If t /
    output_scale exceeds 2^20, TFLite's own code is undefined; here the result saturates. For int16
    the shift is by 15 bits.

    Arithmetic "onnxruntime" is that of QLinearAdd on x86: a sum of the raw values by two fused
    multiply-adds in float32, rounded half to even; see qnn_ops.arithmetic.onnxruntime. Arithmetic
    "xnnpack" is that of XNNPACK: both factors are integers of up to 21 bits, and the sum is shifted
    once and rounds ties up; see qnn_ops.arithmetic.xnnpack.
    """
    return sum_reference(attrs, lhs, rhs, 1)


@quantized_add.type_rule
def _sum_type(attrs: Attrs, lhs: TensorSpec, rhs: TensorSpec) -> TensorSpec:
    if attrs.arithmetic == XNNPACK:
        check_sum(attrs)
    return elementwise_type(attrs, lhs, rhs)


quantized_add.overflow_rule(sum_overflow)


@partial(ElementwiseOperator, xnnpack=partial(sum_xnnpack, sign=-1))
def quantized_subtract(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Subtract a quantized tensor from another.

    Source of the arithmetic: TFLite's reference SUB. With t twice the larger operand scale, both
    operands, less their zero points, are shifted left by 20 bits and multiplied by scale / t; the
    difference is multiplied by t / (2^20 output_scale). Each product is rounded as gemmlowp does
    (qnn_ops.arithmetic.rounding, "tflite"); the zero point is added and the result clamped. If t /
    output_scale exceeds 2^20, TFLite's own code is undefined; here the result saturates.

    Arithmetic "xnnpack" is that of XNNPACK: a sum whose second factor is negative; see
    quantized_add and qnn_ops.arithmetic.xnnpack.
    """
    return sum_reference(attrs, lhs, rhs, -1)


quantized_subtract.type_rule(_sum_type)
quantized_subtract.overflow_rule(sum_overflow)


@partial(ElementwiseOperator, onnxruntime=product_onnxruntime, xnnpack=product_xnnpack)
def quantized_multiply(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Multiply two quantized tensors element by element.

    Source of the arithmetic: TFLite's reference MUL. The product of the operands, less their zero
    points, is multiplied by lhs_scale * rhs_scale / output_scale, computed and rounded in float32
    step by step; the scaling rounds as gemmlowp does (qnn_ops.arithmetic.rounding, "tflite"); the
    zero point is added and the result clamped. A left shift by 32 bits or more counts modulo 32, as
    in TFLite on x86. The shifted product and the sum with the zero point wrap in int32, as in
    LiteRT's builds.

    Arithmetic "onnxruntime" is that of QLinearMul: the product of the values, less their zero
    points, is multiplied by the quotient in float32. The zero point is added in float32, and the
    sum is rounded half to even; see qnn_ops.arithmetic.onnxruntime. Arithmetic "xnnpack" rounds the
    same product first, and then adds the zero point.
    """
    lhs_values = lhs.astype(np.int32) - attrs.lhs_zero_point
    rhs_values = rhs.astype(np.int32) - attrs.rhs_zero_point
    factor = quantize_multiplier(product_multiplier(attrs))
    scaled = scaled_twice(lhs_values * rhs_values, *factor)
    moved = (scaled + attrs.output_zero_point).astype(np.int32).astype(np.int64)
    return np.clip(moved, attrs.out_min, attrs.out_max).astype(attrs.out_dtype)


@quantized_multiply.overflow_rule
def _quantized_multiply_overflow(
    attrs: Attrs, _known: Known, lhs: TensorSpec, rhs: TensorSpec
) -> str:
    left = centred_bounds(lhs.dtype, attrs.lhs_zero_point)
    right = centred_bounds(rhs.dtype, attrs.rhs_zero_point)
    return lifted_beyond_int32(left * right, quantize_multiplier(product_multiplier(attrs))[1])


SQUARE_SHIFT = 7
"""The bits that both operands gain before they are scaled; their squares fit int32."""


@ElementwiseOperator
def quantized_squared_difference(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Square the difference of two quantized tensors.

    Source of the arithmetic: TFLite's reference SQUARED_DIFFERENCE. With t twice the larger operand
    scale, both operands, less their zero points, are shifted left by 7 bits and multiplied by
    scale / t; the square of the difference is multiplied by t² / (2^14 output_scale). Each product
    is rounded as gemmlowp does (qnn_ops.arithmetic.rounding, "tflite"); the zero point is added and
    the result clamped.
    """
    left, right, result = square_multipliers(attrs)
    difference = on_common_scale(lhs, attrs.lhs_zero_point, left, SQUARE_SHIFT) - on_common_scale(
        rhs, attrs.rhs_zero_point, right, SQUARE_SHIFT
    )
    return scale_result(attrs, difference * difference, result, "tflite")


def square_multipliers(attrs: Attrs) -> tuple[float, float, float]:
    """Return the real multipliers of lhs and rhs to their common scale, and of the square."""
    twice = 2.0 * max(attrs.lhs_scale, attrs.rhs_scale)
    with np.errstate(over="ignore"):
        step = float(np.float32(2.0 ** (2 * SQUARE_SHIFT)) * np.float32(attrs.output_scale))
    return attrs.lhs_scale / twice, attrs.rhs_scale / twice, twice * twice / step


@quantized_squared_difference.overflow_rule
def _quantized_squared_difference_overflow(
    attrs: Attrs, _known: Known, _lhs: TensorSpec, _rhs: TensorSpec
) -> None:
    # The operands are at most 255 * 2^6 on the common scale.
    *_, result = square_multipliers(attrs)
    if not 0 < result < 1:
        raise QnnError(
            f"output_scale {attrs.output_scale:.4g} does not go with operands of scale "
            f"{max(attrs.lhs_scale, attrs.rhs_scale):.4g}: TFLite defines squares of differences "
            "of a multiplier below 1"
        )


@ElementwiseOperator
def quantized_prelu(attrs: Attrs, lhs: Array, rhs: Array) -> Array:
    """Keep positive values of ``lhs``, and multiply negative values by the slopes ``rhs``.

    Source of the arithmetic: TFLite's reference PRELU. Values less their zero point are multiplied
    by lhs_scale / output_scale if they are not negative. Otherwise their product with the slope
    less its zero point is multiplied by lhs_scale * rhs_scale / output_scale. Both factors are
    computed in float32, step by step; the scaling rounds as gemmlowp does
    (qnn_ops.arithmetic.rounding, "tflite"); the zero point is added and the result clamped. If a
    factor exceeds 2^14, TFLite's own code is undefined; here the result saturates.
    """
    above, below = prelu_multipliers(attrs)
    values = lhs.astype(np.int32) - attrs.lhs_zero_point
    slopes = rhs.astype(np.int32) - attrs.rhs_zero_point
    # One of the two is 0, and stays 0.
    kept = scaled_twice(np.maximum(values, 0), *quantize_multiplier(above))
    products = np.minimum(values, 0) * slopes
    total = kept + scaled_twice(products, *quantize_multiplier(below)) + attrs.output_zero_point
    return np.clip(total, attrs.out_min, attrs.out_max).astype(attrs.out_dtype)


def prelu_multipliers(attrs: Attrs) -> tuple[float, float]:
    """Return the real multipliers of values that are not negative, and of products with slopes."""
    above, below = _stated_multipliers(attrs)
    return saturating(above), saturating(below)


def _stated_multipliers(attrs: Attrs) -> tuple[float, float]:
    output, scales = attrs.output_scale, (attrs.lhs_scale, attrs.rhs_scale)
    return float32_quotient(scales[:1], output), float32_quotient(scales, output)


@quantized_prelu.overflow_rule
def _quantized_prelu_overflow(
    attrs: Attrs, _known: Known, lhs: TensorSpec, rhs: TensorSpec
) -> None:
    above, below = _stated_multipliers(attrs)
    data = centred_bounds(lhs.dtype, attrs.lhs_zero_point)
    slopes = centred_bounds(rhs.dtype, attrs.rhs_zero_point)
    check_scaled(Bounds.of(0, data.high), above, "tflite", attrs.output_zero_point)
    products = Bounds.of(data.low, 0) * slopes
    check_scaled(products, below, "tflite", attrs.output_zero_point)
