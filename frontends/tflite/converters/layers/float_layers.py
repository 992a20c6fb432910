"""Convolutions, of images and volumes, and dense layers of float32 tensors."""

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import activate, check_clamps, float_range
from frontends.tflite.converters.context import Context, reshaped
from frontends.tflite.converters.layers import convolution
from frontends.tflite.converters.layers.transpose_conv import in_phases, output_shape
from qnn_ops import float_conv2d
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import spec_of
from qnn_ops.errors import QnnError


def convert_float_conv_2d(ctx: Context) -> relax.Expr:
    """Return a convolution, of all channels or of every channel by itself."""
    data, kernel = ctx.input(0), ctx.input(1)
    window = convolution.kind_of(ctx)
    groups, layout = window["groups"], window["kernel_layout"]
    channels, inputs = (kernel.shape[layout.index(letter)] for letter in "OI")
    if groups < 1 or inputs * groups != data.shape[3] or channels % groups:
        raise QnnError(f"a kernel of shape {kernel.shape} for data of shape {data.shape}")
    steps = (window[name] for name in ("strides", "padding", "dilation"))
    convolution.check_window(data.shape[1:3], kernel.shape[1:3], *steps)
    low, high = float_range(ctx.options.activation)
    bias = bias_of(ctx, 2, channels)
    return float_conv2d(data.expr, kernel.expr, bias, **window, low=low, high=high)


def convert_float_fully_connected(ctx: Context) -> relax.Expr:
    """Return a dense layer; unless the rank must be kept, the data becomes rows of K values."""
    convolution.check_format(ctx)
    options = ctx.options
    check_clamps(options.activation)
    outer, depth, units = convolution.rows_of(ctx, options.keep_num_dims)
    pixels = ctx.emit(reshaped(ctx.input(0).expr, (1, 1, prod(outer), depth)))
    kernel = ctx.emit(reshaped(ctx.input(1).expr, (units, 1, 1, depth)))
    low, high = float_range(options.activation)
    sums = float_conv2d(pixels, kernel, bias_of(ctx, 2, units), low=low, high=high)
    return reshaped(ctx.emit(sums), (*outer, units))


def convert_float_transpose_conv(ctx: Context) -> relax.Expr:
    """Return the transposed convolution of the stated size.

    LiteRT adds up pixel by pixel of the data; the convolutions here have the same order.
    """
    options, kernel = ctx.options, ctx.input(1, rank=4)
    data = ctx.input(2, rank=4)
    bias = bias_of(ctx, 3, kernel.shape[0])
    if not ctx.tensor(1).is_constant or not (bias is None or ctx.tensor(3).is_constant):
        sums = transposed_sums(ctx, data.expr, kernel.expr)
        return activate(options.activation, sums if bias is None else R.add(sums, bias))
    shape = output_shape(ctx, kernel.shape, data)
    low, high = float_range(options.activation)

    def convolve(weights: Array, phases: int, padding: tuple[int, ...]) -> relax.Var:
        operands = [ctx.values.add_constant(ctx.output(), "_weights", weights)]
        if bias is not None:
            biases = np.tile(ctx.constant(3), phases)
            operands.append(ctx.values.add_constant(ctx.output(), "_bias", biases))
        return ctx.emit(float_conv2d(data.expr, *operands, padding=padding, low=low, high=high))

    return in_phases(ctx, shape, ctx.constant(1), convolve, lambda parts: R.concat(parts, 3))


def transposed_sums(ctx: Context, images: relax.Expr, planes: relax.Expr) -> relax.Expr:
    """Return the sums of a TRANSPOSE_CONV.

    Args:
        ctx: the operator.
        images: float32 values of the data.
        planes: float32 values of the weights.
    """
    options = ctx.options
    kernel, data = ctx.input(1, rank=4), ctx.input(2, rank=4)
    shape, window = output_shape(ctx, kernel.shape, data), kernel.shape[1:3]
    emit = ctx.emit
    images = emit(R.permute_dims(images, [0, 3, 1, 2]))
    planes = emit(R.permute_dims(planes, [3, 0, 1, 2]))
    whole = emit(R.nn.conv2d_transpose(images, planes, strides=options.stride))
    begins = convolution.window_of(options, shape[1:3], window)["padding"][:2]
    return _cut(ctx, emit(R.permute_dims(whole, [0, 2, 3, 1])), begins, shape[1:3])


def _cut(ctx: Context, sums: relax.Expr, begins: Sequence[int], sizes: Sequence[int]) -> relax.Expr:
    """Return a part of all sums, along the inner axes; zeros follow the last sums."""
    axes = range(1, 1 + len(sizes))
    ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    shape = spec_of(sums).shape
    widths = [(0, max(end - shape[axis], 0)) for axis, end in zip(axes, ends, strict=True)]
    flat = [width for pair in [(0, 0), *widths, (0, 0)] for width in pair]
    padded = ctx.emit(R.nn.pad(sums, flat, pad_value=0.0))
    return ctx.emit(R.strided_slice(padded, [*axes], begins, ends))


def with_bias(ctx: Context, sums: relax.Expr, position: int, channels: int) -> relax.Expr:
    """Add the bias at a position, if there is one; raise as ``bias_of``."""
    bias = bias_of(ctx, position, channels)
    return sums if bias is None else R.add(sums, bias)


def bias_of(ctx: Context, position: int, channels: int) -> relax.Expr | None:
    """Return the bias at a position, if there is one.

    Raises:
        QnnError: it is not float32, or not one value for each channel.
    """
    if not ctx.has(position):
        return None
    bias = ctx.input(position)
    if bias.dtype != "float32" or bias.shape != (channels,):
        raise QnnError(
            f"the bias {bias.label} must be float32 of shape ({channels},), "
            f"got {bias.dtype} {bias.shape}"
        )
    return bias.expr


def convert_conv_3d(ctx: Context) -> relax.Expr:
    """Return a convolution of volumes; the kernel is [depth, height, width, in, out]."""
    data, kernel, options = ctx.input(0), ctx.input(1), ctx.options
    _check_shapes(data.shape, kernel.shape, 3)
    window = convolution.window_of(options, data.shape[1:4], kernel.shape[:3])
    convolution.check_window(data.shape[1:4], kernel.shape[:3], **window)
    planes = ctx.emit(R.permute_dims(kernel.expr, [4, 0, 1, 2, 3]))
    layouts = {"data_layout": "NDHWC", "kernel_layout": "ODHWI"}
    sums = R.nn.conv3d(data.expr, planes, **window, **layouts)
    return activate(options.activation, with_bias(ctx, sums, 2, kernel.shape[4]))


def convert_conv_3d_transpose(ctx: Context) -> relax.Expr:
    """Return the transposed convolution; the kernel is [depth, height, width, out, in]."""
    shape, kernel, data = ctx.integers(0), ctx.input(1), ctx.input(2)
    options, emit = ctx.options, ctx.emit
    _check_shapes(data.shape, kernel.shape, 4)
    if options.dilation != (1, 1, 1):
        raise UnsupportedError(f"the dilation {options.dilation}")
    fits = len(shape) == 5 and shape[0] == data.shape[0] and shape[4] == kernel.shape[3]
    if not fits or min(shape) < 1:
        raise QnnError(f"a result of {shape} from {data.shape} by a kernel of {kernel.shape}")
    size, window = shape[1:4], kernel.shape[:3]
    padding = convolution.window_of(options, size, window)["padding"]
    sizes = zip(size, window, options.stride, padding[:3], padding[3:], strict=True)
    counts = tuple((total - taps + a + b) // step + 1 for total, taps, step, a, b in sizes)
    if counts != data.shape[1:4]:
        raise QnnError(f"a convolution of {size} gives {counts}, the data has {data.shape[1:4]}")
    images = emit(R.permute_dims(data.expr, [0, 4, 1, 2, 3]))
    planes = emit(R.permute_dims(kernel.expr, [4, 3, 0, 1, 2]))
    whole = emit(R.nn.conv3d_transpose(images, planes, strides=options.stride))
    whole = emit(R.permute_dims(whole, [0, 2, 3, 4, 1]))
    sums = _cut(ctx, whole, padding[:3], size)
    return activate(options.activation, with_bias(ctx, sums, 3, shape[4]))


def _check_shapes(data: tuple[int, ...], kernel: tuple[int, ...], depth: int) -> None:
    fits = len(data) == len(kernel) == 5 and data[4] == kernel[depth]
    if not fits or min(*data, *kernel) < 1:
        raise QnnError(f"a kernel of shape {kernel} for data of shape {data}")
