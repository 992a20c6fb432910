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
from legalize.kernels.conv2d.rules import (
    addend_of,
    conv_factor,
    dense_factor,
    ends_in_floats,
    finish,
    fixed_point,
    operands_of,
    spec_of_call,
    sums_first,
)
from legalize.kernels.conv2d.spec import UNFUSED, ConvSpec, Fusion
from legalize.kernels.conv2d.stage import stage
from legalize.kernels.conv2d.x86.choice import choose_kernel
from legalize.kernels.conv2d.x86.pack import pack_conv2d
from legalize.kernels.conv2d.x86.packed_conv2d import conv2d_of
from legalize.kernels.isa.x86 import AMX, ISAS, Isa
from legalize.kernels.table import kernel
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arithmetic import conv_multiplier, dense_multiplier
from qnn_ops.layouts import permutation
from qnn_ops.registry import Attrs, spec_of

Array = np.ndarray[Any, Any]

_ROUNDINGS = ("tflite", "upward", "float64", "onednn")


def conv2d_rule(
    builder: relax.BlockBuilder,
    attrs: Attrs,
    operands: Sequence[relax.Expr],
    *,
    isa: Isa,
    fusion: Fusion = UNFUSED,
    into: relax.Expr | None = None,
) -> relax.Expr | None:
    """A convolution as a call of its kernel.

    Args:
        builder: Of the module.
        attrs: Of the call.
        operands: Of the call; after them the residual, if there is one.
        isa: The instruction set.
        fusion: What the kernel does beside the convolution.
        into: The tensor of which the output is a part, if others have written to it.

    Returns:
        The output, with its border, or the larger tensor; None where the kernel does not do what
        the call asks.
    """
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
        roundings=_ROUNDINGS,
    )
    if spec is None or (fusion != UNFUSED and spec.output.dtype == "int32"):
        return None
    if fusion == UNFUSED:
        fusion = Fusion(addend=addend_of(attrs, operands))
    spec, addends = replace(spec, fusion=fusion), list(operands[3:])
    return _call(builder, isa, spec, data, kernel_ohwi, attrs, bias, multiplier, addends, into)


def _sum(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr], *, isa: Isa
) -> relax.Expr | None:
    """A convolution that adds a tensor, on processors that do it with one rounding."""
    if len(operands) < 4 or isa.lanes < 8:
        return None
    return conv2d_rule(builder, attrs, operands, isa=isa)


def _dense(
    builder: relax.BlockBuilder, attrs: Attrs, operands: Sequence[relax.Expr], *, isa: Isa
) -> relax.Expr | None:
    data, weights, bias = operands_of(operands)
    if weights is None:
        return None
    *outer, depth = spec_of(data).shape
    kernel_ohwi = weights.reshape(-1, 1, 1, depth)
    multiplier = dense_multiplier(attrs.input_scale, attrs.kernel_scale, attrs.output_scale)
    in_shape = prod(outer), 1, 1, depth
    spec = spec_of_call(attrs, data, kernel_ohwi, in_shape=in_shape, roundings=_ROUNDINGS)
    if spec is None:
        return None
    pixels = builder.emit(R.reshape(data, spec.in_shape))
    result = _call(builder, isa, spec, pixels, kernel_ohwi, attrs, bias, multiplier, [])
    return R.reshape(builder.emit(result), (*outer, spec.out_channels))


CONV_ISAS = (AMX, *ISAS)
"""What convolutions are computed with, the fastest first."""

for _isa in CONV_ISAS:
    kernel(quantized_conv2d, *_isa.features, "fma")(partial(_sum, isa=_isa))
    kernel(quantized_conv2d, *_isa.features)(
        sums_first(partial(conv2d_rule, isa=_isa), conv_factor, ends_in_floats)
    )
    kernel(quantized_dense, *_isa.features)(
        sums_first(partial(_dense, isa=_isa), dense_factor, ends_in_floats)
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
    addends: list[relax.Expr],
    into: relax.Expr | None = None,
) -> relax.Expr:
    multiplier, shift = fixed_point(spec, real_multiplier)
    zero_point = np.asarray(attrs.kernel_zero_point)
    spec, isa, plan = choose_kernel(spec, isa, kernel_ohwi, zero_point)
    packed = pack_conv2d(spec, kernel_ohwi, zero_point, bias, multiplier, shift, isa, plan)
    if spec.needs_staging:
        copy = stage(spec)
        data = call_tir(builder, "stage", copy, [data], spec.staged_shape, spec.staged_dtype)
    function = conv2d_of(packed, spec, isa)
    constants = [relax.const(array, str(array.dtype)) for array in packed.constants]
    operands = [data, *constants, *addends]
    name = SORTED_LAST + "conv2d"
    out_dtype = spec.stored.dtype
    result = call_tir(builder, name, function, operands, spec.target_shape, out_dtype, into)
    return finish(builder, attrs, spec, result, real_multiplier)
