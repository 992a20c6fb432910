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
    """A two-dimensional transposed convolution of layout NCHW."""
    layout = image_layout(ctx)
    if layout != "NCHW":
        raise UnsupportedError(f"only layout NCHW is supported, got {layout}")
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
    edges = [
        _edges(ctx, axis, size, (kernel[axis] - 1) * dilation[axis] + 1, strides[axis])
        for axis, size in enumerate(image_size(ctx, layout))
    ]
    padding = [pad for pad, _ in edges]
    result = R.nn.conv2d_transpose(
        ctx.expr(0),
        ctx.expr(1),
        strides=strides,
        padding=[*padding, *padding],
        output_padding=[adjustment for _, adjustment in edges],
        dilation=dilation,
        groups=groups,
    )
    return with_bias(ctx, result, filters, 1, 4, no_bias=True)


def _edges(ctx: Context, axis: int, size: int, extent: int, stride: int) -> tuple[int, int]:
    """How much is cut from both ends of an axis, and added to its end."""
    target = ctx.attrs.integers("target_shape", ())
    if target:
        excess = (size - 1) * stride + extent - pair(ctx, "target_shape", None, 1)[axis]
        if excess < 0:
            raise QnnError(f"attribute target_shape is too large, got {list(target)}")
        return (excess + 1) // 2, excess % 2
    pad, adjustment = pair(ctx, "pad", 0, 0)[axis], pair(ctx, "adj", 0, 0)[axis]
    if adjustment >= stride or (size - 1) * stride + extent + adjustment <= 2 * pad:
        raise QnnError(
            f"pad must leave something and adj be below the stride of {stride}, got {pad} and "
            f"{adjustment}"
        )
    return pad, adjustment
