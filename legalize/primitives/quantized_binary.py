"""Quantized operators on two tensors in Relax primitives, in each framework's arithmetic."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import (
    const,
    multiply_by_quantized_multiplier,
    saturate,
    scale_down,
)
from legalize.primitives.onnxruntime import product_onnxruntime, sum_onnxruntime
from legalize.primitives.registry import primitive
from qnn_ops.arithmetic import quantize_multiplier
from qnn_ops.attributes import dtype_range
from qnn_ops.elementwise import LARGEST_TERM, left_shift, product_multiplier, sum_multipliers
from qnn_ops.onnxruntime import is_onnxruntime, product_factor
from qnn_ops.quantized_binary import (
    SQUARE_SHIFT,
    prelu_multipliers,
    quantized_add,
    quantized_multiply,
    quantized_prelu,
    quantized_squared_difference,
    quantized_subtract,
    square_multipliers,
)
from qnn_ops.registry import Attrs
from qnn_ops.rounded import rounded
from qnn_ops.xnnpack import is_xnnpack, mean_terms, sum_terms


def lower_sum(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr, sign: int
) -> relax.Expr:
    """Lower lhs + sign * rhs, as qnn_ops.elementwise.sum_reference computes it."""

    def on_common_scale(data: relax.Expr, zero_point: int, multiplier: float) -> relax.Expr:
        lifted = R.left_shift(centred(data, zero_point), const(left_shift(attrs), "int32"))
        scaled = multiply_by_quantized_multiplier(builder, lifted, *quantize_multiplier(multiplier))
        return R.astype(scaled, "int32")

    lhs_multiplier, rhs_multiplier, result_multiplier = sum_multipliers(attrs)
    combine = R.add if sign > 0 else R.subtract
    total = combine(
        on_common_scale(lhs, attrs.lhs_zero_point, lhs_multiplier),
        on_common_scale(rhs, attrs.rhs_zero_point, rhs_multiplier),
    )
    if result_multiplier >= 1:
        low, high = const(-LARGEST_TERM, "int32"), const(LARGEST_TERM, "int32")
        total = R.minimum(R.maximum(total, low), high)
    return scale_result(builder, attrs, total, result_multiplier)


def centred(data: relax.Expr, zero_point: int) -> relax.Expr:
    """Subtract the data's zero point, in int32."""
    return R.subtract(R.astype(data, "int32"), const(zero_point, "int32"))


def scale_result(
    builder: relax.BlockBuilder, attrs: Attrs, accumulator: relax.Expr, multiplier: float
) -> relax.Expr:
    """Bring a sum or product to the output's scale, zero point and clamp range."""
    return scale_down(
        builder,
        accumulator,
        multiplier,
        "tflite",
        attrs.output_zero_point,
        (attrs.out_min, attrs.out_max),
        attrs.out_dtype,
    )


def mean_xnnpack(
    builder: relax.BlockBuilder, attrs: Attrs, dtype: str, sums: relax.Expr, count: int
) -> relax.Expr:
    """Lower what becomes of int32 sums of ``count`` values of ``dtype``."""
    terms = mean_terms(attrs, dtype, count)
    own = R.astype(R.subtract(sums, const(terms.taken, "int32")), "float32")
    scaled = rounded(builder.emit(R.multiply(own, const(terms.factor, "float32"))))
    steps = R.round(R.add(scaled, const(terms.constant, "float32")))
    bounded = R.astype(R.clip(steps, *dtype_range("int8")), "int32")
    return R.astype(R.add(bounded, const(terms.given, "int32")), attrs.out_dtype)


def sum_xnnpack(attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr, sign: int = 1) -> relax.Expr:
    """Lower a sum of two tensors, or with the sign -1 their difference.

    int32 has room for it, and for what it is rounded with.
    """
    first, second, shift = sum_terms(attrs, sign)
    left = R.multiply(centred(lhs, attrs.lhs_zero_point), const(first, "int32"))
    right = R.multiply(centred(rhs, attrs.rhs_zero_point), const(second, "int32"))
    total = R.add(R.add(left, right), const(1 << (shift - 1), "int32"))
    shifted = R.right_shift(total, const(shift, "int32"))
    steps = R.add(shifted, const(attrs.output_zero_point, "int32"))
    low, high = const(attrs.out_min, "int32"), const(attrs.out_max, "int32")
    return R.astype(R.minimum(R.maximum(steps, low), high), attrs.out_dtype)


@primitive(quantized_add)
def _quantized_add(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    if is_onnxruntime(attrs):
        return sum_onnxruntime(builder, attrs, lhs, rhs)
    if is_xnnpack(attrs):
        return sum_xnnpack(attrs, lhs, rhs)
    return lower_sum(builder, attrs, lhs, rhs, 1)


@primitive(quantized_subtract)
def _quantized_subtract(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    if is_xnnpack(attrs):
        return sum_xnnpack(attrs, lhs, rhs, -1)
    return lower_sum(builder, attrs, lhs, rhs, -1)


@primitive(quantized_multiply)
def _quantized_multiply(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    product = R.multiply(centred(lhs, attrs.lhs_zero_point), centred(rhs, attrs.rhs_zero_point))
    if is_onnxruntime(attrs):
        return product_onnxruntime(builder, attrs, product)
    bounds, point = (attrs.out_min, attrs.out_max), attrs.output_zero_point
    if is_xnnpack(attrs):
        factor = float(product_factor(attrs))
        return scale_down(builder, product, factor, "float32", point, bounds, attrs.out_dtype)
    multiplier, shift = quantize_multiplier(product_multiplier(attrs))
    scaled = multiply_by_quantized_multiplier(builder, product, multiplier, shift)
    # In int32, where the reference's sum wraps.
    moved = R.astype(R.add(scaled, const(point, "int64")), "int32")
    return saturate(R.astype(moved, "int64"), bounds, attrs.out_dtype)


@primitive(quantized_squared_difference)
def _quantized_squared_difference(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    def on_common_scale(data: relax.Expr, zero_point: int, multiplier: float) -> relax.Expr:
        lifted = R.left_shift(centred(data, zero_point), const(SQUARE_SHIFT, "int32"))
        scaled = multiply_by_quantized_multiplier(builder, lifted, *quantize_multiplier(multiplier))
        return R.astype(scaled, "int32")

    left, right, result = square_multipliers(attrs)
    difference = builder.emit(
        R.subtract(
            on_common_scale(lhs, attrs.lhs_zero_point, left),
            on_common_scale(rhs, attrs.rhs_zero_point, right),
        )
    )
    return scale_result(builder, attrs, R.multiply(difference, difference), result)


@primitive(quantized_prelu)
def _quantized_prelu(
    builder: relax.BlockBuilder, attrs: Attrs, lhs: relax.Expr, rhs: relax.Expr
) -> relax.Expr:
    values = builder.emit(centred(lhs, attrs.lhs_zero_point))
    zero = const(0, "int32")
    products = R.multiply(R.minimum(values, zero), centred(rhs, attrs.rhs_zero_point))
    # One of them is 0, and stays it.
    kept, scaled = (
        multiply_by_quantized_multiplier(builder, value, *quantize_multiplier(multiplier))
        for value, multiplier in zip(
            (R.maximum(values, zero), products), prelu_multipliers(attrs), strict=True
        )
    )
    total = R.add(R.add(kept, scaled), const(attrs.output_zero_point, "int64"))
    return saturate(total, (attrs.out_min, attrs.out_max), attrs.out_dtype)
