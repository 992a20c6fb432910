"""Convolutions: QLinearConv."""

from __future__ import annotations

from typing import Any

from tvm import relax

from legalize.qdq.group import Group, LeftInFloatError, biased, check_weights, one_point
from qnn_ops import quantized_conv2d
from qnn_ops.registry import spec_of


@biased("nn.conv2d")
def _conv2d(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    data, weights = group.activation(call.args[0]), group.quantized(call.args[1])
    check_weights(data, weights)
    attrs = call.attrs
    channel_axis = str(attrs.kernel_layout).index("O")
    if isinstance(weights.scale, list) and weights.axis % 4 != channel_axis:
        raise LeftInFloatError("the weights' scales are not of output channels")
    extra: dict[str, Any] = {}
    if bias is not None:
        channels = spec_of(weights.data).shape[channel_axis]
        extra["bias"] = relax.const(group.bias(bias, data.bias_steps(weights), channels), "int32")
    return quantized_conv2d(
        data.data,
        weights.data,
        **data.input,
        kernel_scale=weights.scale,
        kernel_zero_point=one_point(weights),
        **group.result(),
        strides=[int(size) for size in attrs.strides],
        padding=[int(size) for size in attrs.padding],
        dilation=[int(size) for size in attrs.dilation],
        groups=int(attrs.groups),
        data_layout=str(attrs.data_layout),
        kernel_layout=str(attrs.kernel_layout),
        out_layout=str(attrs.out_layout),
        rounding="float32",
        **extra,
    )
