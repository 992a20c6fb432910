"""Convolutions of volumes: as those of images, whose channels are the planes of a window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvm import relax
from tvm.relax import op as R

from legalize.qdq.conv2d import convolution, operands_of, reshaped, sizes_of
from legalize.qdq.group import Group, NoRuleError, biased
from qnn_ops import quantized_pad
from qnn_ops.registry import spec_of


@biased("nn.conv3d")
def _conv3d(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    data, weights = operands_of(group, call)
    attrs, emit = call.attrs, group.builder.emit
    if (str(attrs.data_layout), str(attrs.kernel_layout)) != ("NCDHW", "OIDHW"):
        raise NoRuleError("volumes must have their channels first")
    units, depth, planes, *taps = spec_of(weights.data).shape
    strides, dilation = sizes_of(attrs, "strides"), sizes_of(attrs, "dilation")
    front, top, left, back, bottom, right = sizes_of(attrs, "padding")
    volume = data.data
    if front or back:
        widths = [0, 0, 0, 0, front, back, 0, 0, 0, 0]
        volume = emit(quantized_pad(volume, widths, int(data.encoding[1])))
    batch, channels, size, *image = spec_of(volume).shape
    count = (size - (planes - 1) * dilation[0] - 1) // strides[0] + 1
    if count < 1:
        raise NoRuleError("its window is larger than its data")

    def plane(number: int) -> relax.Expr:
        """Return the planes that one of the window's meets: [N, C, 1, count, H, W]."""
        begin = number * dilation[0]
        end = begin + (count - 1) * strides[0] + 1
        part = emit(R.strided_slice(volume, [2], [begin], [end], [strides[0]]))
        return emit(R.expand_dims(part, [2]))

    stacked = emit(R.concat([plane(number) for number in range(planes)], 2))
    ordered = emit(R.permute_dims(stacked, [0, 3, 1, 2, 4, 5]))
    images = emit(R.reshape(ordered, (batch * count, channels * planes, *image)))
    window: dict[str, Any] = {
        "strides": strides[1:],
        "padding": [top, left, bottom, right],
        "dilation": dilation[1:],
        "data_layout": "NCHW",
        "kernel_layout": "OIHW",
    }
    operands = replace(data, data=images), reshaped(group, weights, (units, depth * planes, *taps))
    result = emit(convolution(group, operands, bias, call, window))
    shape = spec_of(result).shape
    volume = emit(R.reshape(result, (batch, count, *shape[1:])))
    return R.permute_dims(volume, [0, 2, 1, 3, 4])
