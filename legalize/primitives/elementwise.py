"""The common part of rules of quantized operators on two tensors."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, multiply_by_quantized_multiplier, scale_down
from qnn_ops.arithmetic import quantize_multiplier
from qnn_ops.elementwise import LARGEST_TERM, left_shift, sum_multipliers
from qnn_ops.registry import Attrs


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
