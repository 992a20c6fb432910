"""Quantized CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED; weights, biases and padding."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.activations import check_clamps, clamp_range
from frontends.tflite.converters.context import Context, per_channel, per_tensor, reshaped
from frontends.tflite.model import Tensor
from frontends.tflite.options.base import Options
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.dialect.sizes import is_open
from qnn_ops.dialect.windows import window_count
from qnn_ops.errors import QnnError


def window_of(options: Any, size: Sequence[int], taps: Sequence[int]) -> dict[str, Any]:
    """Return strides, padding and dilation of a window that moves over an image or a volume.

    Source: ComputePaddingHeightWidth of TFLite's kernels/padding.h. SAME gives
    ceil(size / stride) windows; an odd pixel of padding goes below and to the right.

    Args:
        options: of the operator.
        size: of the axes of the image or volume.
        taps: of the window, along these axes.

    Returns:
        The arguments of convolutions; the padding is that before each axis, then behind each.

    Raises:
        QnnError: a size is open.
    """
    if is_open(size):
        raise QnnError(f"height and width must be numbers, got {tuple(size)}")
    strides, dilation = options.stride, getattr(options, "dilation", (1,) * len(size))
    totals = [
        max(0, (-(-count // step) - 1) * step + (window - 1) * gap + 1 - count)
        for count, window, step, gap in zip(size, taps, strides, dilation, strict=True)
    ]
    if options.padding == "VALID":
        totals = [0] * len(size)
    padding = (*(total // 2 for total in totals), *(total - total // 2 for total in totals))
    return {"strides": strides, "padding": padding, "dilation": dilation}


def check_window(
    size: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> None:
    """Raise unless a window fits an image or a volume; the arguments are those of ``window_of``."""
    rank = len(size)
    names, ends = ("depth", "height", "width")[-rank:], (padding[:rank], padding[rank:])
    for name, *numbers in zip(names, size, taps, strides, dilation, *ends, strict=True):
        window_count(name, *numbers)


def check_kernel(data: Tensor, kernel: Tensor, result: Tensor) -> None:
    """Raise unless data, kernel and result are all int8 or all uint8, as TFLite needs them.

    Alternatively, data and result are int16, and the kernel int8.
    """
    dtypes = [tensor.dtype for tensor in (data, kernel, result)]
    if len(set(dtypes)) > 1 and dtypes != ["int16", "int8", "int16"]:
        raise UnsupportedError(f"{dtypes[0]} data, {dtypes[1]} weights and {dtypes[2]} result")
    quantization = kernel.quantization
    if kernel.dtype == "uint8" and quantization is not None and quantization.is_per_channel:
        raise UnsupportedError(f"uint8 weights with a scale per channel ({kernel.label})")


def check_zero_point(kernel: Tensor, zero_point: int | list[int]) -> None:
    """Raise if an int8 kernel has a zero point other than 0, which TFLite does not support."""
    if kernel.dtype == "int8" and zero_point != 0:
        raise QnnError(f"{kernel.label} is an int8 kernel whose zero point is not 0")


def bias_of(ctx: Context, position: int, int16_type: str = "int64") -> relax.Expr | None:
    """Return the bias at an optional input; None if it is left out.

    Args:
        ctx: of a convolution or dense layer.
        position: of the bias.
        int16_type: of the bias, if the data is int16. TFLite reads any other type as this one.
    """
    if not ctx.has(position):
        return None
    bias = ctx.weights(position)
    check_bias(bias.tensor, int16_type if ctx.tensor(0).dtype == "int16" else "int32")
    return bias.expr


def check_bias(bias: Tensor, wanted: str = "int32") -> None:
    """Raise unless a bias has the type of the sums to which it is added."""
    if bias.dtype != wanted:
        raise QnnError(f"the bias {bias.label} must be {wanted}, got {bias.dtype}")


def int16_bias_type(stated: str) -> str:
    """Return the dtype of a bias beside int16 data, from the operator's options.

    FLOAT32, the default, states nothing.
    """
    if stated not in ("float32", "int32", "int64"):
        raise QnnError(f"quantized_bias_type must be int32 or int64, got {stated}")
    return "int32" if stated == "int32" else "int64"


_DEPTHWISE = "DEPTHWISE_CONV_2D"


def kind_of(ctx: Context) -> dict[str, Any]:
    """Return a convolution's window, layouts and groups as arguments.

    CONV_2D has groups if the kernel has fewer input channels than the data. In DEPTHWISE_CONV_2D
    each channel is a group, and the kernel is [1, height, width, C * M].
    """
    data, kernel = ctx.input(0, rank=4), ctx.input(1, rank=4)
    if ctx.operator.code == _DEPTHWISE:
        # The multiplier M follows from the shapes; old files state a wrong one.
        layout, groups = "IHWO", data.shape[3]
    else:
        layout, groups = "OHWI", data.shape[3] // max(1, kernel.shape[3])
    window = window_of(ctx.options, data.shape[1:3], kernel.shape[1:3])
    return {**window, "groups": groups, "data_layout": "NHWC", "kernel_layout": layout}


def convert_conv_2d(ctx: Context) -> relax.Expr:
    """Return a convolution, of all channels or of every channel by itself."""
    data, kernel, result = ctx.input(0), ctx.weights(1), ctx.output()
    options, window, is_depthwise = ctx.options, kind_of(ctx), ctx.operator.code == _DEPTHWISE
    outer = window["kernel_layout"].index("O")
    if is_depthwise and kernel.tensor.packed and data.dtype == "int16":
        # LiteRT does not unpack such weights there.
        raise UnsupportedError("int4 weights beside int16 data")
    if 0 in data.shape[1:3]:
        raise QnnError(f"{data.label} needs height and width, got {data.shape}")
    kernel_scale, kernel_zero_point = per_channel(kernel.tensor, outer)
    check_kernel(data.tensor, kernel.tensor, result)
    check_zero_point(kernel.tensor, kernel_zero_point)
    low, high = clamp_range(options.activation, result)
    bias_type = "int64" if is_depthwise else int16_bias_type(options.quantized_bias_type)
    bias = bias_of(ctx, 2, bias_type)
    is_wide = data.dtype == "int16" and bias_type == "int64"
    counts = _counts(options, data.shape[1:3], kernel.shape[1:3])
    if options.padding == "VALID" and min(counts) == 0:
        return R.zeros((data.shape[0], *counts, kernel.shape[outer]), result.dtype)
    encodings = (*data.quantization, kernel_scale, kernel_zero_point, *per_tensor(result))
    return quantized_conv2d(
        data.expr,
        kernel.expr,
        *encodings,
        result.dtype,
        **window,
        bias=bias,
        out_min=low,
        out_max=high,
        rounding="reduced" if is_wide else "tflite",
    )


def _counts(options: Options, sizes: Sequence[int], window: Sequence[int]) -> list[int]:
    """Count the positions of a window without padding.

    In LiteRT, a window that is larger than the image by less than two steps has no position. A
    larger one is an error. Source: ComputeOutSize of TFLite's kernels/padding.h.
    """
    counts = []
    for size, taps, step, gap in zip(sizes, window, options.stride, options.dilation, strict=True):
        room = size + step - ((taps - 1) * gap + 1)
        counts.append(room // step if room >= 0 else -(-room // step))
    return counts


def check_format(ctx: Context) -> None:
    """Raise unless the weights of a dense layer are in their usual order."""
    if ctx.options.weights_format != "DEFAULT":
        raise UnsupportedError(f"weights in the format {ctx.options.weights_format}")


def convert_fully_connected(ctx: Context) -> relax.Expr:
    """Return a dense layer; unless the rank must be kept, the data becomes rows of K values.

    The run may compute the weights.
    """
    check_format(ctx)
    options = ctx.options
    check_clamps(options.activation)
    data, weight, result = ctx.input(0), ctx.input(1), ctx.output()
    check_kernel(data.tensor, weight.tensor, result)
    scale, zero_point = per_channel(weight.tensor, 0)
    # LiteRT reads the zero point of weights with one scale, and uses 0 otherwise.
    if isinstance(scale, list) and zero_point != 0:
        raise QnnError(f"{weight.label} has a scale per row and a zero point that is not 0")
    outer, depth, _ = rows_of(ctx, options.keep_num_dims)
    expr = data.expr
    if data.shape != (*outer, depth):
        expr = ctx.emit(reshaped(expr, (*outer, depth)))
    low, high = clamp_range(options.activation, result)
    encodings = (*data.quantization, scale, zero_point, *per_tensor(result))
    return quantized_dense(
        expr,
        weight.expr,
        *encodings,
        result.dtype,
        bias=_bias(ctx, weight.shape[0]),
        out_min=low,
        out_max=high,
        rounding="tflite" if ctx.model.semantics == "tflm" else "float64",
    )


def rows_of(ctx: Context, keep_num_dims: bool) -> tuple[tuple[int, ...], int, int]:
    """Return the rows of a layer's data; one or more dimensions number them.

    Returns:
        The dimensions of the rows, the values in each, and the units of the result.

    Raises:
        QnnError: the data are not whole rows.
    """
    data, weight = ctx.input(0), ctx.tensor(1)
    # Files may state no shape of weights that a run computes.
    shape = weight.shape if weight.is_constant else ctx.input(1).shape
    if len(shape) != 2:
        raise QnnError(f"{weight.label} must have 2 dimensions, got {shape}")
    units, depth = shape
    count = prod(data.shape)
    if data.shape[-1:] != (depth,) if keep_num_dims else depth == 0 or count % depth:
        raise QnnError(
            f"{data.label} of {data.shape} has no whole rows of {depth}, which {weight.label} takes"
        )
    return data.shape[:-1] if keep_num_dims else (count // depth,), depth, units


def _bias(ctx: Context, units: int) -> relax.Expr | None:
    bias_type = int16_bias_type(ctx.options.quantized_bias_type)
    if ctx.tensor(0).dtype == "int16" and bias_type == "int32" and not ctx.has(2):
        # It states the width of the sums, even without a bias.
        return ctx.values.add_constant(ctx.output(), "_bias", np.zeros(units, np.int32))
    return bias_of(ctx, 2, bias_type)
