"""quantized_dense in Relax primitives."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.primitives.registry import primitive
from legalize.primitives.sums import centred, result_of_sums, sum_dtype, wrapped
from qnn_ops.arithmetic import dense_multiplier
from qnn_ops.quantized_dense import quantized_dense
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.wide_sums import is_wide


@primitive(quantized_dense)
def _quantized_dense(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    data: relax.Expr,
    weight: relax.Expr,
    bias: relax.Expr | None = None,
) -> relax.Expr:
    kernel_zero_point = np.asarray(attrs.kernel_zero_point)
    if kernel_zero_point.ndim:
        kernel_zero_point = kernel_zero_point.reshape(-1, 1)
    data_dtype = spec_of(data).dtype
    dtype = sum_dtype(spec_of(weight).shape[1], data_dtype)
    wide = is_wide(data_dtype, None if bias is None else spec_of(bias).dtype)
    accumulator = R.matmul(
        centred(data, attrs.input_zero_point),
        R.permute_dims(centred(weight, kernel_zero_point)),
        out_dtype=dtype,
    )
    accumulator = wrapped(accumulator, dtype, wide=wide)
    is_sum = attrs.out_dtype == "int32"
    scales = (attrs.input_scale, attrs.kernel_scale, attrs.output_scale)
    multiplier = 1.0 if is_sum else dense_multiplier(*scales, attrs.rounding)
    return result_of_sums(builder, attrs, accumulator, bias, multiplier, wide=wide)
