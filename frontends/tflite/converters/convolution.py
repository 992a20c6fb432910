"""CONV_2D and DEPTHWISE_CONV_2D."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import clamp_range
from frontends.tflite.converters.context import Context, Operand, per_channel, per_tensor
from frontends.tflite.converters.kernels import (
    bias_of,
    check_kernel,
    check_zero_point,
    int16_bias_type,
)
from frontends.tflite.converters.padding import window_padding
from frontends.tflite.converters.registry import converter, int16_converter
from frontends.tflite.options import Conv2DOptions, DepthwiseConv2DOptions
from qnn_ops import QnnError, quantized_conv2d


@int16_converter("CONV_2D")
@converter("CONV_2D")
def convert_conv_2d(ctx: Context) -> relax.Expr:
    """Return a convolution, in groups where the kernel has fewer input channels than the data."""
    data, kernel = ctx.input(0), ctx.weights(1)
    check_ranks(data, kernel)
    groups = data.shape[3] // max(1, kernel.shape[3])
    return _convolve(ctx, ctx.options(Conv2DOptions), data, kernel, "OHWI", groups)


@int16_converter("DEPTHWISE_CONV_2D")
@converter("DEPTHWISE_CONV_2D")
def convert_depthwise_conv_2d(ctx: Context) -> relax.Expr:
    """Return a convolution of every channel by itself; the kernel is [1, height, width, C * M]."""
    data, kernel = ctx.input(0), ctx.weights(1)
    check_ranks(data, kernel)
    if data.tensor.dtype == "int16" and kernel.tensor.packed:
        # LiteRT does not unpack them there.
        raise UnsupportedError("int4 weights beside int16 data")
    # The multiplier M follows from the shapes; old files state a wrong one.
    return _convolve(ctx, ctx.options(DepthwiseConv2DOptions), data, kernel, "IHWO", data.shape[3])


def _convolve(
    ctx: Context,
    options: Conv2DOptions | DepthwiseConv2DOptions,
    data: Operand,
    kernel: Operand,
    kernel_layout: str,
    groups: int,
) -> relax.Expr:
    result = ctx.output()
    if 0 in data.shape[1:3]:
        raise QnnError(f"{data.tensor.label} needs height and width, got {data.shape}")
    kernel_scale, kernel_zero_point = per_channel(kernel.tensor, kernel_layout.index("O"))
    check_kernel(data.tensor, kernel.tensor, result)
    check_zero_point(kernel.tensor, kernel_zero_point)
    padding = window_padding(
        options.padding, data.shape[1:3], kernel.shape[1:3], options.stride, options.dilation
    )
    low, high = clamp_range(options.activation, result)
    bias_type = "int64"
    if isinstance(options, Conv2DOptions):
        bias_type = int16_bias_type(options.quantized_bias_type)
    bias = bias_of(ctx, 2, bias_type)
    is_wide = data.tensor.dtype == "int16" and bias_type == "int64"
    counts = _counts(options, data.shape[1:3], kernel.shape[1:3])
    if options.padding == "VALID" and min(counts) == 0:
        channels = kernel.shape[kernel_layout.index("O")]
        return R.zeros((data.shape[0], *counts, channels), result.dtype)
    return quantized_conv2d(
        data.expr,
        kernel.expr,
        *data.quantization,
        kernel_scale,
        kernel_zero_point,
        *per_tensor(result),
        result.dtype,
        strides=options.stride,
        padding=padding,
        dilation=options.dilation,
        groups=groups,
        data_layout="NHWC",
        kernel_layout=kernel_layout,
        bias=bias,
        out_min=low,
        out_max=high,
        rounding="reduced" if is_wide else "tflite",
    )


def _counts(
    options: Conv2DOptions | DepthwiseConv2DOptions, sizes: Sequence[int], window: Sequence[int]
) -> list[int]:
    """Return how many places a window has without padding.

    LiteRT takes a window that is larger than the image by less than two steps, to no place at all;
    one that is larger still is an error. Source: ComputeOutSize of TFLite's kernels/padding.h.
    """
    counts = []
    for size, taps, step, gap in zip(sizes, window, options.stride, options.dilation, strict=True):
        room = size + step - ((taps - 1) * gap + 1)
        counts.append(room // step if room >= 0 else -(-room // step))
    return counts


def check_ranks(*operands: Operand) -> None:
    """Raise unless all have 4 dimensions."""
    for operand in operands:
        if len(operand.shape) != 4:
            raise QnnError(f"{operand.tensor.label} must have 4 dimensions, got {operand.shape}")
