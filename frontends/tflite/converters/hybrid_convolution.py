"""CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV of float32 data and 8-bit weights."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import activate
from frontends.tflite.converters.context import Array, Context
from frontends.tflite.converters.convolution import check_ranks
from frontends.tflite.converters.float_layers import transposed_sums
from frontends.tflite.converters.hybrid import (
    SUMS,
    QuantizedRows,
    centred,
    check_result,
    quantized_rows,
    scales_of,
    weights_of,
    with_bias,
)
from frontends.tflite.converters.padding import window_padding
from frontends.tflite.converters.registry import hybrid_converter
from frontends.tflite.options import (
    Conv2DOptions,
    DepthwiseConv2DOptions,
    TransposeConvOptions,
)
from qnn_ops import quantized_conv2d
from qnn_ops.rounded import rounded

Options = Conv2DOptions | DepthwiseConv2DOptions


@hybrid_converter("CONV_2D")
def convert_hybrid_conv_2d(ctx: Context) -> relax.Expr:
    """Return a convolution of images that are quantized each by itself.

    Source of the arithmetic: conv.cc of LiteRT, which has two kinds. With one scale (or several
    equal ones) images have no zero point, and their scale is multiplied by the kernel's first.
    Otherwise they have, and a sum is multiplied by the channel's scale, then by the image's.
    """
    options = ctx.options(Conv2DOptions)
    kernel = ctx.tensor(1)
    check_ranks(ctx.input(0), ctx.weights(1))
    scales = scales_of(ctx, 1, kernel.shape[0])
    groups = ctx.input(0).shape[3] // max(1, kernel.shape[3])
    if groups == 1 and (kernel.dtype == "uint8" or np.all(scales == scales[0])):
        sums, rows, _ = _sums(ctx, options, "OHWI", 1, asymmetric=False)
        scale = R.multiply(rows.scale, relax.const(scales[:1]))
        product = R.multiply(R.astype(sums, "float32"), scale)
    else:
        _check_scales(ctx, scales, kernel.shape[0])
        sums, rows, totals = _sums(ctx, options, "OHWI", groups, asymmetric=True)
        steps = R.multiply(centred(ctx, sums, rows, totals), relax.const(scales))
        product = R.multiply(rounded(ctx.builder.emit(steps)), rows.scale)
    return activate(options.activation, with_bias(ctx, product, 2))


@hybrid_converter("DEPTHWISE_CONV_2D")
def convert_hybrid_depthwise_conv_2d(ctx: Context) -> relax.Expr:
    """Return a convolution of every channel by itself; images are quantized with a zero point.

    Source of the arithmetic: DepthwiseConvHybridPerChannel of LiteRT: a sum is multiplied by the
    product of the channel's and the image's scales.
    """
    options = ctx.options(DepthwiseConv2DOptions)
    kernel = ctx.tensor(1)
    check_ranks(ctx.input(0), ctx.weights(1))
    if kernel.dtype != "int8":
        raise UnsupportedError(f"float32 data and {kernel.dtype} weights")
    scales = scales_of(ctx, 1, kernel.shape[3])
    _check_scales(ctx, scales, kernel.shape[3])
    sums, rows, totals = _sums(ctx, options, "IHWO", ctx.input(0).shape[3], asymmetric=True)
    scale = R.multiply(relax.const(scales), rows.scale)
    product = R.multiply(centred(ctx, sums, rows, totals), scale)
    return activate(options.activation, with_bias(ctx, product, 2))


@hybrid_converter("TRANSPOSE_CONV")
def convert_hybrid_transpose_conv(ctx: Context) -> relax.Expr:
    """Return a transposed convolution of images that are quantized each by itself.

    Source: HybridTransposeConv of LiteRT, which scales each product and adds them up in float32.
    Here the products are added up first: the results lie within 2n · 2^-24 of the sum of the n
    products' sizes of each other.
    """
    check_result(ctx)
    data, kernel = ctx.input(2), ctx.tensor(1)
    if kernel.dtype != "int8":
        raise UnsupportedError(f"float32 data and {kernel.dtype} weights")
    check_ranks(data, ctx.weights(1))
    scales = scales_of(ctx, 1, kernel.shape[0])
    _check_scales(ctx, scales, kernel.shape[0])
    batch, emit = data.shape[0], ctx.builder.emit
    rows = quantized_rows(ctx, data.expr, batch, (batch, 1, 1, 1), asymmetric=True)
    centre = emit(R.subtract(R.astype(rows.values, "int32"), rows.zero_point))
    planes = emit(R.astype(ctx.weights(1).expr, "float32"))
    sums = transposed_sums(ctx, emit(R.astype(centre, "float32")), planes)
    scale = R.multiply(relax.const(scales), rows.scale)
    product = R.multiply(sums, scale)
    options = ctx.options(TransposeConvOptions)
    return activate(options.activation, with_bias(ctx, product, 3))


def _check_scales(ctx: Context, scales: Array, channels: int) -> None:
    if scales.size != channels:
        raise UnsupportedError(
            f"{ctx.tensor(1).label} has one scale for {channels} channels, for which LiteRT takes "
            "whatever memory holds behind it"
        )


def _sums(
    ctx: Context, options: Options, layout: str, groups: int, *, asymmetric: bool
) -> tuple[relax.Expr, QuantizedRows, Array]:
    """Return the int32 sums, the images, and for each channel the sum of its weights."""
    check_result(ctx)
    data = ctx.input(0)
    kernel, array = weights_of(ctx, 1)
    window = [array.shape[layout.index(letter)] for letter in "HW"]
    padding = window_padding(
        options.padding, data.shape[1:3], window, options.stride, options.dilation
    )
    expr, batch = data.expr, data.shape[0]
    if asymmetric and any(padding):
        # 0.0 becomes the zero point, and lies in every range.
        top, left, bottom, right = padding
        widths = [0, 0, top, bottom, left, right, 0, 0]
        expr, padding = ctx.builder.emit(R.nn.pad(expr, widths, pad_value=0.0)), (0, 0, 0, 0)
    rows = quantized_rows(ctx, expr, batch, (batch, 1, 1, 1), asymmetric=asymmetric)
    sums = quantized_conv2d(
        rows.values,
        kernel,
        *SUMS,
        strides=options.stride,
        padding=padding,
        dilation=options.dilation,
        groups=groups,
        data_layout="NHWC",
        kernel_layout=layout,
    )
    others = tuple(axis for axis, letter in enumerate(layout) if letter != "O")
    return ctx.builder.emit(sums), rows, array.sum(axis=others, dtype=np.int32)
