"""Which calls of the dialect the depthwise convolution serves, and how they become its spec."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.kernels.call import SORTED_LAST, call_tir
from legalize.kernels.conv2d.arm.rules import arm_spec
from legalize.kernels.conv2d.rules import conv_factor, finish, operands_of, sums_first
from legalize.kernels.conv2d.stage import stage
from legalize.kernels.depthwise.arm.kernel import depthwise_conv2d
from legalize.kernels.depthwise.arm.pack import pack_depthwise
from legalize.kernels.depthwise.arm.plan import LEAST_CHANNELS
from legalize.kernels.isa.arm import ARMV7, NEON, Isa
from legalize.kernels.table import kernel
from qnn_ops import quantized_conv2d
from qnn_ops.layouts import permutation
from qnn_ops.registry import Attrs, spec_of


def _depthwise(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr], *, isa: Isa
) -> relax.Expr | None:
    data, weights, bias = operands_of(operands)
    batch, height, width, channels = spec_of(data).shape
    layouts = (attrs.data_layout, attrs.out_layout)
    if weights is None or layouts != ("NHWC", "NHWC") or attrs.groups != channels:
        return None
    kernel_ohwi = weights.transpose(permutation(attrs.kernel_layout, "OHWI"))
    out_channels = kernel_ohwi.shape[0]
    multiplier = conv_factor(attrs, str(weights.dtype))
    spec = arm_spec(
        isa,
        attrs,
        data,
        kernel_ohwi,
        multiplier,
        in_shape=(batch, height, width, out_channels),
        strides=attrs.strides,
        padding=attrs.padding,
        dilation=attrs.dilation,
    )
    if spec is None or out_channels < LEAST_CHANNELS:
        return None
    if out_channels != channels:
        # Each channel once for every output that it gives.
        data = builder.emit(R.repeat(data, out_channels // channels, axis=3))
    packed = pack_depthwise(
        spec,
        isa,
        kernel_ohwi[..., 0].transpose(1, 2, 0),
        np.asarray(attrs.kernel_zero_point),
        bias,
        multiplier,
    )
    if spec.needs_staging:
        data = call_tir(builder, "stage", stage(spec), [data], spec.staged_shape, "int8")
    function = depthwise_conv2d(packed.plan, packed.requantization, packed.row_dtypes)
    constants = [relax.const(array, str(array.dtype)) for array in packed.constants]
    result = call_tir(
        builder,
        SORTED_LAST + "depthwise_conv2d",
        function,
        [data, *constants],
        spec.out_shape,
        spec.output.dtype,
    )
    return finish(builder, attrs, spec, result, multiplier)


for _isa in (NEON, ARMV7):
    rule = partial(_depthwise, isa=_isa)
    kernel(quantized_conv2d, *_isa.features)(sums_first(rule, conv_factor))
