"""Pools: MaxPool on the integers, and QLinearGlobalAveragePool."""

from __future__ import annotations

from tvm import relax

from legalize.qdq.group import ORT, Group, LeftInFloatError, NoRuleError, rule
from qnn_ops import quantized_mean, quantized_pool2d
from qnn_ops.registry import spec_of


@rule("nn.max_pool2d")
def _max_pool2d(group: Group, call: relax.Call) -> relax.Expr:
    data, attrs = group.activation(call.args[0]), call.attrs
    if data.encoding != group.encoding:
        raise LeftInFloatError("a maximum's result has not its data's scale and zero point")
    if bool(attrs.ceil_mode) or any(int(step) != 1 for step in attrs.dilation):
        raise NoRuleError("a pool must not have dilations, nor round its size up")
    return quantized_pool2d(
        data.data,
        "max",
        [int(size) for size in attrs.pool_size],
        [int(size) for size in attrs.strides],
        [int(size) for size in attrs.padding],
        str(attrs.layout),
    )


@rule("nn.avg_pool2d")
def _avg_pool2d(_group: Group, _call: relax.Call) -> relax.Expr:
    raise NoRuleError("an average of windows")


@rule("mean")
def _mean(group: Group, call: relax.Call) -> relax.Expr:
    data = group.activation(call.args[0])
    axes = sorted(int(axis) % 4 for axis in call.attrs.axis or ())
    is_image = len(spec_of(data.data).shape) == 4 and axes in ([2, 3], [1, 2])
    if not is_image or not bool(call.attrs.keepdims):
        raise LeftInFloatError("a mean is not of images")
    return quantized_mean(data.data, axes, True, **data.input, **group.result(), **ORT)
