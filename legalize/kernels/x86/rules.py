"""Which calls of the dialect the convolution kernel serves, and how they become its spec."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.calls import call_tir
from legalize.kernels.registry import kernel
from legalize.kernels.x86.conv2d import conv2d
from legalize.kernels.x86.isa import ISAS, Isa
from legalize.kernels.x86.pack import pack_conv2d
from legalize.kernels.x86.spec import ConvSpec
from legalize.kernels.x86.stage import stage
from legalize.primitives.fixed_point import saturate, scale_down
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic import conv_multiplier, dense_multiplier, quantize_multiplier
from qnn_ops.attributes import dtype_range
from qnn_ops.layouts import permutation
from qnn_ops.registry import Attrs, constant_of, spec_of

Array = np.ndarray[Any, Any]

_ROUNDINGS = ("tflite", "upward")
_MIDDLE = {"uint8": 128, "int8": 0}


def _conv2d(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr], *, isa: Isa
) -> relax.Expr | None:
    data, weights, bias = operands_of(operands)
    layouts = (attrs.data_layout, attrs.out_layout)
    if weights is None or attrs.groups != 1 or layouts != ("NHWC", "NHWC"):
        return None
    batch, height, width, channels = spec_of(data).shape
    kernel_ohwi = weights.transpose(permutation(attrs.kernel_layout, "OHWI"))
    multiplier = conv_multiplier(
        attrs.input_scale, attrs.kernel_scale, attrs.output_scale, str(weights.dtype)
    )
    spec = spec_of_call(
        attrs,
        data,
        kernel_ohwi,
        in_shape=(batch, height, width, channels),
        strides=attrs.strides,
        padding=attrs.padding,
        dilation=attrs.dilation,
    )
    if spec is None:
        return None
    return _call(builder, isa, spec, data, kernel_ohwi, attrs, bias, multiplier)


def _dense(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr], *, isa: Isa
) -> relax.Expr | None:
    data, weights, bias = operands_of(operands)
    if weights is None:
        return None
    *outer, depth = spec_of(data).shape
    kernel_ohwi = weights.reshape(-1, 1, 1, depth)
    multiplier = dense_multiplier(attrs.input_scale, attrs.kernel_scale, attrs.output_scale)
    spec = spec_of_call(attrs, data, kernel_ohwi, in_shape=(prod(outer), 1, 1, depth))
    if spec is None:
        return None
    pixels = builder.emit(R.reshape(data, spec.in_shape))
    result = _call(builder, isa, spec, pixels, kernel_ohwi, attrs, bias, multiplier)
    return R.reshape(builder.emit(result), (*outer, spec.out_channels))


for _isa in ISAS:
    kernel(quantized_conv2d, *_isa.features)(partial(_conv2d, isa=_isa))
    kernel(quantized_dense, *_isa.features)(partial(_dense, isa=_isa))


def operands_of(operands: Sequence[relax.Expr]) -> tuple[relax.Expr, Array | None, Array | None]:
    """Data, weights and bias; no weights where they, or a bias, are not constant."""
    data, weights, *rest = operands
    bias = constant_of(rest[0]) if rest else None
    return data, None if rest and bias is None else constant_of(weights), bias


def spec_of_call(
    attrs: Attrs,
    data: relax.Expr,
    kernel_ohwi: Array,
    *,
    in_shape: tuple[int, int, int, int],
    strides: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilation: tuple[int, int] = (1, 1),
) -> ConvSpec | None:
    """Describe the call as a spec, or None where the kernel has no such arithmetic."""
    kernel_dtype = str(kernel_ohwi.dtype)
    zero_points = np.unique(attrs.kernel_zero_point)
    if zero_points.size > 1:
        return None
    # What the kernel does not end in comes after it; then the kernel's output is the sum.
    is_whole = attrs.rounding in _ROUNDINGS and attrs.out_dtype != "int32"
    batch, height, width, channels = in_shape
    return ConvSpec(
        batch=batch,
        in_height=height,
        in_width=width,
        in_channels=channels,
        kernel_height=kernel_ohwi.shape[1],
        kernel_width=kernel_ohwi.shape[2],
        strides=strides,
        padding=padding,
        dilation=dilation,
        out_channels=kernel_ohwi.shape[0],
        in_dtype=spec_of(data).dtype,
        out_dtype=attrs.out_dtype if is_whole else "int32",
        input_zero_point=attrs.input_zero_point,
        output_zero_point=attrs.output_zero_point,
        out_min=attrs.out_min,
        out_max=attrs.out_max,
        rounding=attrs.rounding if is_whole else "tflite",
        kernel_dtype=kernel_dtype,
        has_asymmetric_kernel=int(zero_points[0]) != _MIDDLE[kernel_dtype],
    )


def _call(
    builder: relax.BlockBuilder,
    isa: Isa,
    spec: ConvSpec,
    data: relax.Expr,
    kernel_ohwi: Array,
    attrs: Attrs,
    bias: Array | None,
    real_multiplier: Array,
) -> relax.Expr:
    is_sum = spec.out_dtype == "int32"
    multiplier, shift = (0, 0) if is_sum else quantize_multiplier(real_multiplier)
    packed = pack_conv2d(
        spec, kernel_ohwi, np.asarray(attrs.kernel_zero_point), bias, multiplier, shift, isa
    )
    if spec.needs_staging:
        data = call_tir(builder, "stage", stage(spec), [data], spec.staged_shape, "uint8")
    function = conv2d(spec, packed.requantization, packed.tiling, isa)
    constants = [relax.const(array, str(array.dtype)) for array in packed.constants]
    result = call_tir(
        builder, "conv2d", function, [data, *constants], spec.out_shape, spec.out_dtype
    )
    return finish(builder, attrs, spec, result, real_multiplier)


def finish(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    spec: ConvSpec,
    result: relax.Expr,
    real_multiplier: Array,
) -> relax.Expr:
    """Apply to the kernel's sums what the kernel does not end in."""
    bounds = (attrs.out_min, attrs.out_max)
    if attrs.out_dtype == "int32":
        if bounds == dtype_range("int32"):
            return result
        return saturate(R.astype(result, "int64"), bounds, "int32")
    if spec.out_dtype == attrs.out_dtype:
        return result
    return scale_down(
        builder,
        result,
        real_multiplier,
        attrs.rounding,
        attrs.output_zero_point,
        bounds,
        attrs.out_dtype,
    )
