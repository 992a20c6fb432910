"""Which calls of the dialect the depthwise convolution serves, and how they become its spec."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.call import SORTED_LAST, call_tir
from legalize.kernels.conv2d.rules import (
    conv_factor,
    ends_in_floats,
    finish,
    fixed_point,
    operands_of,
    spec_of_call,
    sums_first,
)
from legalize.kernels.depthwise.x86.kernel import depthwise_conv2d
from legalize.kernels.depthwise.x86.pack import pack_depthwise
from legalize.kernels.isa.x86 import ISAS, Isa
from legalize.kernels.table import kernel
from qnn_ops import quantized_conv2d
from qnn_ops.arithmetic import conv_multiplier
from qnn_ops.layouts import permutation
from qnn_ops.registry import Attrs, spec_of


def _depthwise(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    operands: Sequence[relax.Expr],
    *,
    isa: Isa,
) -> relax.Expr | None:
    data, weights, bias = operands_of(operands)
    batch, height, width, channels = spec_of(data).shape
    layouts = (attrs.data_layout, attrs.out_layout)
    if weights is None or layouts != ("NHWC", "NHWC") or attrs.groups != channels:
        return None
    kernel_ohwi = weights.transpose(permutation(attrs.kernel_layout, "OHWI"))
    out_channels = kernel_ohwi.shape[0]
    spec = spec_of_call(
        attrs,
        data,
        kernel_ohwi,
        in_shape=(batch, height, width, out_channels),
        strides=attrs.strides,
        padding=attrs.padding,
        dilation=attrs.dilation,
        roundings=("tflite", "upward", "onednn"),
    )
    if spec is None:
        return None
    if out_channels != channels:
        # Each channel once for every output that it gives.
        data = builder.emit(R.repeat(data, out_channels // channels, axis=3))
    real_multiplier = conv_multiplier(
        attrs.input_scale, attrs.kernel_scale, attrs.output_scale, str(weights.dtype)
    )
    multiplier, shift = fixed_point(spec, real_multiplier)
    packed = pack_depthwise(
        spec,
        kernel_ohwi[..., 0].transpose(1, 2, 0),
        np.asarray(attrs.kernel_zero_point),
        bias,
        multiplier,
        shift,
        isa,
    )
    function = depthwise_conv2d(packed.plan, packed.requantization)
    constants: list[Any] = [relax.const(array, str(array.dtype)) for array in packed.constants]
    result = call_tir(
        builder,
        SORTED_LAST + "depthwise_conv2d",
        function,
        [data, *constants],
        spec.out_shape,
        spec.output.dtype,
    )
    return finish(builder, attrs, spec, result, real_multiplier)


for _isa in ISAS:
    kernel(quantized_conv2d, *_isa.features)(
        sums_first(partial(_depthwise, isa=_isa), conv_factor, ends_in_floats)
    )
