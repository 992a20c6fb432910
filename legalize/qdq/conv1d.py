"""Convolutions of rows: as those of images that are one pixel high."""

from __future__ import annotations

from dataclasses import replace

from tvm import relax
from tvm.relax import op as R

from legalize.qdq.conv2d import convolution, operands_of, reshaped, sizes_of
from legalize.qdq.group import TABLES, Group, NoRuleError, biased
from qnn_ops.registry import spec_of


@biased("nn.conv1d", arithmetics=tuple(TABLES))
def _conv1d(group: Group, call: relax.Call, bias: relax.Expr | None) -> relax.Expr:
    data, weights = operands_of(group, call)
    attrs = call.attrs
    if (str(attrs.data_layout), str(attrs.kernel_layout)) != ("NCW", "OIW"):
        raise NoRuleError("rows must have their channels first")
    units, depth, taps = spec_of(weights.data).shape
    image = replace(data, data=group.builder.emit(R.expand_dims(data.data, [2])))
    before, after = sizes_of(attrs, "padding")
    window = {
        "strides": [1, *sizes_of(attrs, "strides")],
        "padding": [0, before, 0, after],
        "dilation": [1, *sizes_of(attrs, "dilation")],
        "data_layout": "NCHW",
        "kernel_layout": "OIHW",
    }
    weights = reshaped(group, weights, (units, depth, 1, taps))
    return R.squeeze(
        group.builder.emit(convolution(group, (image, weights), bias, call, window)), [2]
    )
