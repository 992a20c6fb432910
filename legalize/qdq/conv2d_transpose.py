"""XNNPACK's transposed convolutions: as convolutions of images whose pixels stand apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from legalize.qdq.conv2d import convolution, sizes_of
from legalize.qdq.group import (
    Group,
    LeftInFloatError,
    NoRuleError,
    biased,
    check_weights,
)
from qnn_ops import quantized_pad
from qnn_ops.registry import constant_of, spec_of
from qnn_ops.xnnpack import XNNPACK


@biased("nn.conv2d_transpose", arithmetics=[XNNPACK])
def _conv2d_transpose(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    attrs, emit = call.attrs, group.builder.emit
    data, weights = group.activation(call.args[0]), group.quantized(call.args[1])
    check_weights(data, weights)
    if isinstance(weights.scale, list) and weights.axis != 1:
        raise LeftInFloatError("the weights' scales are not of output channels")
    array = constant_of(weights.data)
    if array is None or int(attrs.groups) != 1:
        raise NoRuleError("its weights must be constant, and of one group")
    strides, dilation = sizes_of(attrs, "strides"), sizes_of(attrs, "dilation")
    top, left, bottom, right = sizes_of(attrs, "padding")
    reach = [step * (size - 1) for step, size in zip(dilation, array.shape[2:], strict=True)]
    extra = sizes_of(attrs, "output_padding")
    padding = [
        *(reach[0] - top, reach[1] - left),
        *(reach[0] - bottom + extra[0], reach[1] - right + extra[1]),
    ]
    if min(padding) < 0:
        raise NoRuleError("it pads by more than its window reaches")
    batch, channels, height, width = spec_of(data.data).shape
    spread = emit(R.reshape(data.data, (batch, channels, height, 1, width, 1)))
    widths = [0] * 6 + [0, strides[0] - 1] + [0, 0] + [0, strides[1] - 1]
    spread = emit(quantized_pad(spread, widths, int(data.encoding[1])))
    image = emit(R.reshape(spread, (batch, channels, height * strides[0], width * strides[1])))
    ends = [(height - 1) * strides[0] + 1, (width - 1) * strides[1] + 1]
    image = emit(R.strided_slice(image, [2, 3], [0, 0], ends))
    turned = np.ascontiguousarray(array.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1])
    window: dict[str, Any] = {
        "strides": [1, 1],
        "padding": padding,
        "dilation": dilation,
        "data_layout": "NCHW",
        "kernel_layout": "OIHW",
    }
    kernel = replace(weights, data=relax.const(turned, str(array.dtype)), axis=_axis(weights.axis))
    return convolution(group, (replace(data, data=image), kernel), bias, call, window)


def _axis(axis: int) -> int:
    """Return that of the turned weights' channels; none where there is one scale."""
    return 0 if axis == 1 else axis
