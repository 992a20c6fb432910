"""Convolution and Deconvolution of floats, and the attributes of windows."""

from __future__ import annotations

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.registry import converter
from qnn_ops.errors import QnnError
from qnn_ops.windows import window_count

LAYOUTS = ("NCHW", "NHWC")


def image_layout(ctx: Context) -> str:
    """Return the layout of the operator's first input, a two-dimensional image.

    Raises:
        UnsupportedError: it has another number of spatial dimensions.
    """
    rank = len(ctx.shape(0))
    layout = ctx.attrs.text("layout", LAYOUTS[0])
    if rank != 4 or layout not in LAYOUTS:
        raise UnsupportedError(
            f"only images of layout {' or '.join(LAYOUTS)} are supported, got {layout} and "
            f"{rank} dimensions"
        )
    return layout


def image_size(ctx: Context, layout: str) -> tuple[int, int]:
    """Return height and width of the operator's first input."""
    shape = ctx.shape(0)
    return shape[layout.index("H")], shape[layout.index("W")]


def pair(ctx: Context, name: str, default: int | None, least: int) -> tuple[int, int]:
    """Return an attribute with a value for rows and one for columns; '()' means the default."""
    values = ctx.attrs.integers(name, () if default is not None else None)
    if not values and default is not None:
        values = (default, default)
    if len(values) != 2 or min(values) < least:
        raise QnnError(
            f"attribute {name} must be two numbers of at least {least}, got {list(values)}"
        )
    return values[0], values[1]


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
    """Raise unless the weight, the second input, has the shape that the attributes imply."""
    if ctx.shape(1) != needed:
        raise QnnError(f"the weight must have shape {needed}, got {ctx.shape(1)}")


def with_bias(
    ctx: Context, result: relax.Expr, channels: int, axis: int, rank: int, *, no_bias: bool = False
) -> relax.Expr:
    """Add the bias, the third input, unless the operator has none.

    Args:
        ctx: the operator.
        result: the tensor to which the bias is added.
        channels: the number of the bias's values.
        axis: the axis of the channels.
        rank: the result's rank.
        no_bias: the default of the attribute no_bias.
    """
    if ctx.attrs.flag("no_bias", no_bias):
        return result
    if ctx.shape(2) != (channels,):
        raise QnnError(f"the bias must have shape ({channels},), got {ctx.shape(2)}")
    shape = [channels if index == axis else 1 for index in range(rank)]
    return R.add(result, R.reshape(ctx.expr(2), shape))


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
