"""Convolution of floats."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.converters.windows import image_layout, image_size, pair
from qnn_ops.errors import QnnError
from qnn_ops.windows import window_count


@converter("Convolution", "Convolution_v1")
def convert_convolution(ctx: Context) -> relax.Expr:
    """Convolve in two dimensions, in groups or not; the kernel has the layout of the data."""
    layout = image_layout(ctx)
    kernel_layout = layout.replace("N", "O").replace("C", "I")
    groups, filters = ctx.attrs.integer("num_group", 1), ctx.attrs.integer("num_filter")
    channels = ctx.shape(0)[layout.index("C")]
    window = pair(ctx, "kernel", None, 1)
    if groups < 1 or channels % groups or filters % groups:
        raise QnnError(
            f"num_group must divide the {channels} channels of the data and num_filter, "
            f"{filters}, got {groups}"
        )
    sizes = {"O": filters, "I": channels // groups, "H": window[0], "W": window[1]}
    check_weight(ctx, tuple(sizes[letter] for letter in kernel_layout))
    strides, padding = pair(ctx, "stride", 1, 1), pair(ctx, "pad", 0, 0)
    dilation = pair(ctx, "dilate", 1, 1)
    for name, size, taps, stride, step, pad in zip(
        ("height", "width"),
        image_size(ctx, layout),
        window,
        strides,
        dilation,
        padding,
        strict=True,
    ):
        window_count(name, size, taps, stride, step, pad, pad)
    result = R.nn.conv2d(
        ctx.expr(0),
        ctx.expr(1),
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        data_layout=layout,
        kernel_layout=kernel_layout,
    )
    return with_bias(ctx, result, filters, layout.index("C"), 4)


def check_weight(ctx: Context, needed: tuple[int, ...]) -> None:
    """Raise unless the weight, the second input, has the shape that the attributes say."""
    if ctx.shape(1) != needed:
        raise QnnError(f"the weight must have shape {needed}, got {ctx.shape(1)}")


def with_bias(
    ctx: Context, result: relax.Expr, channels: int, axis: int, rank: int, *, no_bias: bool = False
) -> relax.Expr:
    """Add the bias, the third input, unless the operator has none.

    Args:
        ctx: the operator.
        result: what the bias is added to.
        channels: how many values the bias has.
        axis: of the channels.
        rank: of the result.
        no_bias: what a missing attribute no_bias means.
    """
    if ctx.attrs.flag("no_bias", no_bias):
        return result
    if ctx.shape(2) != (channels,):
        raise QnnError(f"the bias must have shape ({channels},), got {ctx.shape(2)}")
    shape = [channels if index == axis else 1 for index in range(rank)]
    return R.add(result, R.reshape(ctx.expr(2), shape))
