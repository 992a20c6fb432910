"""quantized_conv2d in Relax primitives."""

from __future__ import annotations

from math import prod
from typing import Any

from tvm import relax
from tvm.relax import op as R

from legalize.primitives.registry import primitive
from legalize.primitives.sums import centred, result_of_sums, sum_dtype, wrapped
from qnn_ops.arithmetic import conv_multiplier
from qnn_ops.attributes import per_axis
from qnn_ops.layouts import permutation, reorder
from qnn_ops.quantized_conv2d import quantized_conv2d
from qnn_ops.registry import Attrs, spec_of
from qnn_ops.wide_sums import is_wide


@primitive(quantized_conv2d)
def _quantized_conv2d(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    data: relax.Expr,
    kernel: relax.Expr,
    bias: relax.Expr | None = None,
    addend: relax.Expr | None = None,
) -> relax.Expr:
    channel_axis = attrs.data_layout.index("C")

    def in_out_layout(value: relax.Expr) -> relax.Expr:
        if attrs.out_layout == attrs.data_layout:
            return value
        return R.permute_dims(value, permutation(attrs.data_layout, attrs.out_layout))

    *sizes, _ = reorder(spec_of(kernel).shape, attrs.kernel_layout, "HWIO")
    data_dtype = spec_of(data).dtype
    dtype = sum_dtype(prod(sizes), data_dtype)
    wide = is_wide(data_dtype, None if bias is None else spec_of(bias).dtype)
    # Zero padding of centred data is padding with the input zero point.
    accumulator = R.nn.conv2d(
        centred(data, attrs.input_zero_point),
        centred(kernel, per_axis(attrs.kernel_zero_point, attrs.kernel_layout.index("O"), 4)),
        strides=list(attrs.strides),
        padding=list(attrs.padding),
        dilation=list(attrs.dilation),
        groups=attrs.groups,
        data_layout=attrs.data_layout,
        kernel_layout=attrs.kernel_layout,
        out_dtype=dtype,
    )
    accumulator = wrapped(accumulator, dtype, wide=wide)
    if bias is not None:
        shape = [1, 1, 1, 1]
        shape[channel_axis] = spec_of(bias).shape[0]
        bias = R.reshape(bias, shape)
    multiplier: Any = 1.0
    if attrs.out_dtype != "int32":
        scales = (attrs.input_scale, attrs.kernel_scale, attrs.output_scale)
        factor = conv_multiplier(*scales, spec_of(kernel).dtype, attrs.rounding)
        multiplier = per_axis(factor, channel_axis, 4)
    if addend is not None and attrs.out_layout != attrs.data_layout:
        addend = R.permute_dims(addend, permutation(attrs.out_layout, attrs.data_layout))
    return in_out_layout(
        result_of_sums(builder, attrs, accumulator, bias, multiplier, addend, wide=wide)
    )
