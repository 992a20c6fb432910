"""Deconvolution (transposed convolution) of floats."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.convolution import check_weight, with_bias
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.converters.windows import image_layout, image_size, pair
from qnn_ops.errors import QnnError


@converter("Deconvolution")
def convert_deconvolution(ctx: Context) -> relax.Expr:
    """Return a two-dimensional transposed convolution of layout NCHW."""
    layout = image_layout(ctx)
    if layout != "NCHW" or ctx.attrs.integers("target_shape", ()):
        raise UnsupportedError("only layout NCHW without a target_shape is supported")
    groups, filters = ctx.attrs.integer("num_group", 1), ctx.attrs.integer("num_filter")
    channels = ctx.shape(0)[1]
    if groups < 1 or channels % groups or filters % groups:
        raise QnnError(
            f"num_group must divide the {channels} channels of the data and num_filter, "
            f"{filters}, got {groups}"
        )
    kernel = pair(ctx, "kernel", None, 1)
    check_weight(ctx, (channels, filters // groups, *kernel))
    strides, dilation = pair(ctx, "stride", 1, 1), pair(ctx, "dilate", 1, 1)
    padding, adjustment = pair(ctx, "pad", 0, 0), pair(ctx, "adj", 0, 0)
    for size, window, stride, step, pad, adjusted in zip(
        image_size(ctx, layout), kernel, strides, dilation, padding, adjustment, strict=True
    ):
        full = (size - 1) * stride + (window - 1) * step + 1 + adjusted
        if adjusted >= stride or full <= 2 * pad:
            raise QnnError(
                f"pad must leave something of {full} and adj be below the stride of {stride}, "
                f"got {pad} and {adjusted}"
            )
    result = R.nn.conv2d_transpose(
        ctx.expr(0),
        ctx.expr(1),
        strides=strides,
        padding=[*padding, *padding],
        output_padding=adjustment,
        dilation=dilation,
        groups=groups,
    )
    return with_bias(ctx, result, filters, 1, 4, no_bias=True)
