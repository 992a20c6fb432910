"""Convolutions, dense layers, products of matrices and pools, and the attributes of windows.

All work on floats, except for the pool of quantized data.
"""

from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context, converter
from frontends.mxnet.converters.quantization import check_quantized, range_at
from frontends.mxnet.scalars import Array, Value, const
from qnn_ops import quantized_pool2d
from qnn_ops.dialect.windows import window_count
from qnn_ops.errors import QnnError

LAYOUTS = ("NCHW", "NHWC")


def image_layout(ctx: Context) -> str:
    """Return the layout of the operator's first input, a two-dimensional image.

    Raises:
        UnsupportedError: it has another number of spatial dimensions.
    """
    layout = ctx.attrs.text("layout", LAYOUTS[0])
    if ctx.rank != 4 or layout not in LAYOUTS:
        raise UnsupportedError(
            f"only images of layout {' or '.join(LAYOUTS)} are supported, got {layout} and "
            f"{ctx.rank} dimensions"
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


def window_of(ctx: Context, layout: str = "NCHW") -> dict[str, Any]:
    """Return the attributes of a convolution, whose kernel has the data's layout."""
    return {
        "strides": pair(ctx, "stride", 1, 1),
        "padding": pair(ctx, "pad", 0, 0),
        "dilation": pair(ctx, "dilate", 1, 1),
        "groups": ctx.attrs.integer("num_group", 1),
        "data_layout": layout,
        "kernel_layout": layout.replace("N", "O").replace("C", "I"),
    }


@converter("Convolution", "Convolution_v1")
def convert_convolution(ctx: Context) -> relax.Expr:
    """Convolve in two dimensions, in groups or not; the kernel has the data's layout."""
    layout = image_layout(ctx)
    taps, window = pair(ctx, "kernel", None, 1), window_of(ctx, layout)
    groups, channels, filters = _channels(ctx, layout)
    sizes = {"O": filters, "I": channels // groups, "H": taps[0], "W": taps[1]}
    needed = tuple(sizes[letter] for letter in window["kernel_layout"])
    ctx.check_shape(1, needed, "the weight")
    names = ("strides", "dilation", "padding", "padding")
    steps = image_size(ctx, layout), taps, *(window[name] for name in names)
    for name, *numbers in zip(("height", "width"), *steps, strict=True):
        window_count(name, *numbers)
    result = R.nn.conv2d(ctx.expr(0), ctx.expr(1), **window)
    return with_bias(ctx, result, filters, layout.index("C"), 4)


def _channels(ctx: Context, layout: str) -> tuple[int, int, int]:
    """Return the numbers of groups, and of channels of the data and of the result."""
    groups, filters = ctx.attrs.integer("num_group", 1), ctx.attrs.integer("num_filter")
    channels = ctx.shape(0)[layout.index("C")]
    if groups < 1 or channels % groups or filters % groups:
        raise QnnError(
            f"num_group must divide the {channels} channels of the data and num_filter, "
            f"{filters}, got {groups}"
        )
    return groups, channels, filters


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
    ctx.check_shape(2, (channels,), "the bias")
    shape = [channels if index == axis else 1 for index in range(rank)]
    return R.add(result, R.reshape(ctx.expr(2), shape))


@converter("Deconvolution")
def convert_deconvolution(ctx: Context) -> relax.Expr:
    """Return a two-dimensional transposed convolution of layout NCHW."""
    layout = image_layout(ctx)
    if layout != "NCHW" or ctx.attrs.integers("target_shape", ()):
        raise UnsupportedError("only layout NCHW without a target_shape is supported")
    groups, channels, filters = _channels(ctx, layout)
    kernel = pair(ctx, "kernel", None, 1)
    ctx.check_shape(1, (channels, filters // groups, *kernel), "the weight")
    strides, dilation = pair(ctx, "stride", 1, 1), pair(ctx, "dilate", 1, 1)
    padding, adjustment = pair(ctx, "pad", 0, 0), pair(ctx, "adj", 0, 0)
    steps = image_size(ctx, layout), kernel, strides, dilation, padding, adjustment
    for size, window, stride, step, pad, adjusted in zip(*steps, strict=True):
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


@converter("FullyConnected")
def convert_fully_connected(ctx: Context) -> relax.Expr:
    """Multiply the last axis, or flattened data, by a matrix stored [outputs, inputs]."""
    shape, data = ctx.shape(0), ctx.expr(0)
    if not shape:
        raise QnnError("the data must have at least one dimension")
    if ctx.attrs.flag("flatten", True):
        shape = (shape[0], prod(shape[1:]))
        data = R.reshape(data, shape)
    outputs = ctx.attrs.integer("num_hidden")
    ctx.check_shape(1, (outputs, shape[-1]), "the weight")
    known = ctx.known(1)
    if known is None:
        weight = R.permute_dims(ctx.expr(1))
    else:
        weight = ctx.parameter(np.ascontiguousarray(known.T), "_weight_transposed")
    result = R.matmul(data, weight)
    return with_bias(ctx, result, outputs, len(shape) - 1, len(shape))


@converter("dot")
def convert_dot(ctx: Context) -> relax.Expr:
    """Return the product of two matrices."""
    if ctx.rank != 2 or len(ctx.shape(1)) != 2:
        raise UnsupportedError(
            f"only matrices are supported, got shapes {ctx.shape(0)} and {ctx.shape(1)}"
        )
    return _product(ctx, [1, 0])


@converter("batch_dot")
def convert_batch_dot(ctx: Context) -> relax.Expr:
    """Multiply pairs of matrices."""
    if ctx.rank != 3 or len(ctx.shape(1)) != 3 or ctx.shape(0)[0] != ctx.shape(1)[0]:
        raise QnnError(
            f"the inputs must be equally many matrices, got {ctx.shape(0)} and {ctx.shape(1)}"
        )
    return _product(ctx, [0, 2, 1])


def _product(ctx: Context, axes: list[int]) -> relax.Expr:
    """Multiply both inputs; ``axes`` is the order of axes of a transposed input."""
    flags = [ctx.attrs.flag(name, False) for name in ("transpose_a", "transpose_b")]
    shapes = [
        [ctx.shape(position)[axis] for axis in axes] if flag else ctx.shape(position)
        for position, flag in enumerate(flags)
    ]
    if shapes[0][-1] != shapes[1][-2]:
        raise QnnError(f"matrices of {ctx.shape(0)} and {ctx.shape(1)} have no product")
    lhs, rhs = (
        R.permute_dims(data, axes) if flag else data
        for data, flag in zip((ctx.expr(0), ctx.expr(1)), flags, strict=True)
    )
    return R.matmul(lhs, rhs)


CONVENTIONS = ("valid", "full", "same")


Window = tuple[tuple[int, int], tuple[int, int], tuple[int, int, int, int]]
"""Height and width in pixels; vertical and horizontal strides; the pixels of the windows beyond the
image: top, left, bottom, right."""


def pooling_windows(ctx: Context, layout: str) -> tuple[Window, Array]:
    """Return the windows that the operator's attributes describe, and an average's divisors.

    With convention "valid", windows that do not fit are left out; with "full", the last one may
    reach beyond the padding. An average divides by the pixels and padding that it covers, or, with
    count_include_pad false, only by the pixels. Positions beyond the padding never count. Divisors
    are int64 [rows, columns].

    Raises:
        QnnError: an attribute does not fit, or a window has no pixel.
    """
    convention = ctx.attrs.text("pooling_convention", "valid", CONVENTIONS)
    if convention == "same":
        raise UnsupportedError("pooling_convention same is not supported")
    size, strides = pair(ctx, "kernel", None, 1), pair(ctx, "stride", 1, 1)
    padding = pair(ctx, "pad", 0, 0)
    with_padding = ctx.attrs.flag("count_include_pad", True)
    after, counts = zip(
        *(
            _along(*sizes, is_full=convention == "full", with_padding=with_padding)
            for sizes in zip(image_size(ctx, layout), size, strides, padding, strict=True)
        ),
        strict=True,
    )
    return (size, strides, (*padding, *after)), counts[0][:, None] * counts[1]


def _along(
    size: int, window: int, stride: int, pad: int, *, is_full: bool, with_padding: bool
) -> tuple[int, Array]:
    """Compute the padding at the end of an axis, and the number of elements in each window."""
    room = size + 2 * pad - window
    if room < 0:
        raise QnnError(f"the window of {window} does not fit {size} pixels, padded by {pad}")
    count = (room + (stride - 1 if is_full else 0)) // stride + 1
    first = np.arange(count, dtype=np.int64) * stride - pad
    pixels = np.minimum(first + window, size) - np.maximum(first, 0)
    if (pixels < 1).any():
        raise QnnError(
            f"a window of {window} has no pixel: there are {size}, padded by {pad}, and windows "
            f"{stride} apart"
        )
    covered = np.minimum(first + window, size + pad) - first
    return max(int(first[-1]) + window - size, 0), covered if with_padding else pixels


_GLOBAL = {"max": R.max, "avg": R.mean, "sum": R.sum}


@converter("Pooling", "Pooling_v1")
def convert_pooling(ctx: Context) -> relax.Expr:
    """Return the maximum, mean or sum of each window of an image, or of the whole image."""
    kind = ctx.attrs.text("pool_type", "max", tuple(_GLOBAL))
    layout = image_layout(ctx)
    data = ctx.expr(0)
    if ctx.attrs.flag("global_pool", False):
        return _GLOBAL[kind](data, [layout.index("H"), layout.index("W")], keepdims=True)
    window, counts = pooling_windows(ctx, layout)
    taps = prod(window[0])
    if kind == "max":
        return R.nn.max_pool2d(data, *window, layout=layout)
    mean = R.nn.avg_pool2d(data, *window, count_include_pad=True, layout=layout)
    if kind == "sum":
        return R.multiply(mean, const(taps))
    if (counts == taps).all():
        return mean
    factors = (taps / counts).astype(np.float32)
    spatial = [slice(None) if letter in "HW" else None for letter in layout]
    return R.multiply(mean, ctx.parameter(factors[tuple(spatial)], "_factors"))


@converter("_contrib_quantized_pooling")
def convert_quantized_pooling(ctx: Context) -> list[Value]:
    """Return the maximum or average of each window; the range does not change.

    An average divides by the size of its window, including padding and positions beyond it, unless
    count_include_pad is false.
    """
    check_quantized(ctx, 0)
    layout = image_layout(ctx)
    kind = ctx.attrs.text("pool_type", "max", ("max", "avg"))
    bounds = range_at(ctx, 1)
    window: Window = image_size(ctx, layout), (1, 1), (0, 0, 0, 0)
    if not ctx.attrs.flag("global_pool", False):
        window, _ = pooling_windows(ctx, layout)
    rounding = "half_even" if kind == "avg" else "half_away"
    includes = kind == "avg" and ctx.attrs.flag("count_include_pad", True)
    pooled = quantized_pool2d(
        ctx.expr(0), kind, *window, layout, rounding=rounding, count_include_pad=includes
    )
    return [pooled, *bounds]
