"""Which calls of the dialect the convolution kernel serves, and how they become its spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.call import SORTED_LAST, call_tir
from legalize.kernels.conv2d.arm.epilogue import can_requantize
from legalize.kernels.conv2d.arm.kernel import conv2d
from legalize.kernels.conv2d.arm.pack import pack_conv2d
from legalize.kernels.conv2d.arm.tiling import choose_tiling, microseconds
from legalize.kernels.conv2d.groups import each_group
from legalize.kernels.conv2d.rules import (
    conv_factor,
    dense_factor,
    finish,
    operands_of,
    spec_of_call,
    sums_first,
)
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.stage import stage
from legalize.kernels.depthwise.arm.plan import LEAST_CHANNELS
from legalize.kernels.isa.arm import DOTPROD, I8MM, ISAS, Isa
from legalize.kernels.table import kernel
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.layouts import permutation
from qnn_ops.registry import Attrs, spec_of

Array = np.ndarray[Any, Any]


def _conv2d(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr], *, isa: Isa
) -> relax.Expr | None:
    data, weights, bias = operands_of(operands)
    if attrs.groups != 1:
        channels = spec_of(data).shape[attrs.data_layout.index("C")]
        out_channels = spec_of(operands[1]).shape[attrs.kernel_layout.index("O")]
        is_depthwise = attrs.groups == channels and out_channels >= LEAST_CHANNELS
        grouped = each_group(partial(_conv2d, isa=isa))
        return None if is_depthwise else grouped(builder, attrs, operands)
    layouts = (attrs.data_layout, attrs.out_layout)
    if weights is None or layouts != ("NHWC", "NHWC"):
        return None
    kernel_ohwi = weights.transpose(permutation(attrs.kernel_layout, "OHWI"))
    multiplier = conv_factor(attrs, str(weights.dtype))
    spec = arm_spec(
        isa,
        attrs,
        data,
        kernel_ohwi,
        multiplier,
        in_shape=spec_of(data).shape,
        strides=attrs.strides,
        padding=attrs.padding,
        dilation=attrs.dilation,
    )
    if spec is None or not _pays(spec, isa):
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
    multiplier = dense_factor(attrs, str(weights.dtype))
    in_shape = prod(outer), 1, 1, depth
    spec = arm_spec(isa, attrs, data, kernel_ohwi, multiplier, in_shape=in_shape)
    if spec is None or not _pays(spec, isa):
        return None
    pixels = builder.emit(R.reshape(data, spec.in_shape))
    result = _call(builder, isa, spec, pixels, kernel_ohwi, attrs, bias, multiplier)
    return R.reshape(builder.emit(result), (*outer, spec.out_channels))


for _isa in ISAS:
    kernel(quantized_conv2d, *_isa.features)(sums_first(partial(_conv2d, isa=_isa), conv_factor))
    kernel(quantized_dense, *_isa.features)(sums_first(partial(_dense, isa=_isa), dense_factor))


def arm_spec(
    isa: Isa,
    attrs: Attrs,
    data: relax.Expr,
    kernel_ohwi: Array,
    real_multiplier: Array,
    **window: Any,
) -> ConvSpec | None:
    """As ``spec_of_call``, which takes ``window``, for kernels that multiply int8."""
    has_sequence = attrs.out_dtype == "int32" or can_requantize(
        isa, attrs.rounding, real_multiplier
    )
    roundings = (attrs.rounding,) if has_sequence else ()
    spec = spec_of_call(attrs, data, kernel_ohwi, roundings=roundings, **window)
    return None if spec is None else replace(spec, staged_dtype="int8")


def _pays(spec: ConvSpec, isa: Isa) -> bool:
    """Whether an instruction set can serve the convolution, and no other one does it faster."""
    if isa is not I8MM:
        return True
    if spec.run_length < isa.depth or spec.out_pixels < isa.pixels:
        return False
    costs = [microseconds(spec, each, choose_tiling(spec, each)) for each in (I8MM, DOTPROD)]
    return costs[0] < costs[1]


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
    packed = pack_conv2d(
        spec, isa, kernel_ohwi, np.asarray(attrs.kernel_zero_point), bias, real_multiplier
    )
    if spec.needs_staging:
        data = call_tir(builder, "stage", stage(spec), [data], spec.staged_shape, "int8")
    function = conv2d(
        spec,
        packed.isa,
        packed.requantization,
        packed.tiling,
        packed.row_dtypes,
        has_sums=packed.has_sums,
    )
    constants = [relax.const(array, str(array.dtype)) for array in packed.constants]
    result = call_tir(
        builder,
        SORTED_LAST + "conv2d",
        function,
        [data, *constants],
        spec.out_shape,
        spec.output.dtype,
    )
    return finish(builder, attrs, spec, result, real_multiplier)
