"""quantized_mean in Relax primitives."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.fixed_point import (
    const,
    multiply_by_quantized_multiplier,
    saturate,
    scale_down,
)
from legalize.primitives.registry import primitive
from legalize.primitives.xnnpack import mean_xnnpack
from qnn_ops.attributes import dtype_range
from qnn_ops.onnxruntime import is_onnxruntime, mean_factor
from qnn_ops.quantized_mean import LARGEST_SUM, averaged, multiplier_of, quantized_mean
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.xnnpack import is_xnnpack


@primitive(quantized_mean)
def _quantized_mean(builder: relax.BlockBuilder, attrs: Attrs, data: relax.Expr) -> relax.Expr:
    axes, count = averaged(attrs, spec_of(data).shape)
    sums = R.astype(data, "int32")
    if axes:
        sums = R.sum(sums, list(axes), keepdims=attrs.keepdims)
    if is_xnnpack(attrs):
        return mean_xnnpack(builder, attrs, spec_of(data).dtype, sums, count)
    sums = R.subtract(sums, const(count * attrs.input_zero_point, "int32"))
    if is_onnxruntime(attrs):
        bounds, point = dtype_range(attrs.out_dtype), attrs.output_zero_point
        factor = mean_factor(attrs, count)
        return scale_down(builder, sums, factor, "float32", point, bounds, attrs.out_dtype)
    multiplier, shift = multiplier_of(attrs, count)
    if shift > 0:
        sums = R.minimum(R.maximum(sums, const(-LARGEST_SUM, "int32")), const(LARGEST_SUM, "int32"))
    mean = multiply_by_quantized_multiplier(
        builder, sums, np.asarray(multiplier), np.asarray(shift)
    )
    shifted = R.add(mean, const(attrs.output_zero_point, "int64"))
    return saturate(shifted, dtype_range(attrs.out_dtype), attrs.out_dtype)
