"""quantized_dense in Relax primitives."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import const, saturate, scale_down
from legalize.primitives.float_stage import float_stage
from legalize.primitives.registry import primitive
from qnn_ops.arithmetic import dense_multiplier
from qnn_ops.float_stage import ROUNDING
from qnn_ops.quantized_dense import quantized_dense
from qnn_ops.registry import Attrs


@primitive(quantized_dense)
def _quantized_dense(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    data: relax.Expr,
    weight: relax.Expr,
    bias: relax.Expr | None = None,
) -> relax.Expr:
    def centred(value: relax.Expr, zero_point: Any) -> relax.Expr:
        # 16 bits hold any difference of two 8-bit values, and multiply twice as fast as 32.
        return R.subtract(R.astype(value, "int16"), const(zero_point, "int16"))

    kernel_zero_point = np.asarray(attrs.kernel_zero_point)
    if kernel_zero_point.ndim:
        kernel_zero_point = kernel_zero_point.reshape(-1, 1)
    accumulator = R.matmul(
        centred(data, attrs.input_zero_point),
        R.permute_dims(centred(weight, kernel_zero_point)),
        out_dtype="int32",
    )
    is_sum = attrs.out_dtype == "int32"
    scales = (attrs.input_scale, attrs.kernel_scale, attrs.output_scale)
    multiplier = 1.0 if is_sum else dense_multiplier(*scales)
    if attrs.rounding == ROUNDING:
        return float_stage(builder, attrs, accumulator, bias, multiplier)
    if bias is not None:
        accumulator = R.add(accumulator, bias)
    bounds = (attrs.out_min, attrs.out_max)
    if is_sum:
        return saturate(R.astype(accumulator, "int64"), bounds, "int32")
    return scale_down(
        builder,
        accumulator,
        multiplier,
        attrs.rounding,
        attrs.output_zero_point,
        bounds,
        attrs.out_dtype,
    )
