"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

from collections.abc import Sequence

from tvm import relax
from tvm.relax import op as R

from frontends.tflite.converters.activations import activate, clamp_range
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.convolution import check_windows, window_padding
from frontends.tflite.converters.quantization import check_same_dtype
from frontends.tflite.converters.registry import converter, float_converter, int16_converter
from frontends.tflite.options import Pool2DOptions
from qnn_ops import QnnError, quantized_pool2d

_POOL_TYPES = {"AVERAGE_POOL_2D": "avg", "MAX_POOL_2D": "max"}


@int16_converter(*_POOL_TYPES)
@converter(*_POOL_TYPES)
def convert_pool_2d(ctx: Context) -> relax.Expr:
    """Pool integers: LiteRT takes the output's scale and zero point for the input's."""
    options, data, result = ctx.options(Pool2DOptions), ctx.input(0), ctx.output()
    if len(data.shape) != 4:
        raise QnnError(f"{data.tensor.label} must have 4 dimensions, got {data.shape}")
    check_same_dtype(data.tensor, result)
    low, high = clamp_range(options.activation, result)
    counts = _counts(options, data.shape[1:3])
    if 0 in counts:
        return R.zeros((data.shape[0], *counts, data.shape[3]), result.dtype)
    return quantized_pool2d(
        data.expr,
        _POOL_TYPES[ctx.operator.code],
        options.filter,
        strides=options.stride,
        padding=window_padding(options.padding, data.shape[1:3], options.filter, options.stride),
        layout="NHWC",
        out_min=low,
        out_max=high,
    )


def _counts(options: Pool2DOptions, sizes: Sequence[int]) -> list[int]:
    """Return how many places a window has along height and width.

    LiteRT gives the result no height either where a window without padding is wider than the image
    by two steps or more.
    """
    steps = options.stride
    if options.padding == "SAME":
        return [-(-size // step) for size, step in zip(sizes, steps, strict=True)]
    high, wide = (
        size + step - taps for size, taps, step in zip(sizes, options.filter, steps, strict=True)
    )
    if wide <= -steps[1]:
        return [0, 0]
    return [max(0, high) // steps[0], max(0, wide) // steps[1]]


@float_converter(*_POOL_TYPES, "L2_POOL_2D")
def convert_float_pool_2d(ctx: Context) -> relax.Expr:
    """Pool what lies inside the image; an L2 pooling is the root of the mean of squares."""
    options, data, code = ctx.options(Pool2DOptions), ctx.input(0), ctx.operator.code
    if len(data.shape) != 4:
        raise QnnError(f"{data.tensor.label} must have 4 dimensions, got {data.shape}")
    padding = window_padding(options.padding, data.shape[1:3], options.filter, options.stride)
    check_windows(data.shape[1:3], options.filter, options.stride, padding)
    window = {"strides": options.stride, "padding": padding, "layout": "NHWC"}
    if code == "MAX_POOL_2D":
        result = R.nn.max_pool2d(data.expr, options.filter, **window)
    else:
        values = R.square(data.expr) if code == "L2_POOL_2D" else data.expr
        result = R.nn.avg_pool2d(values, options.filter, **window)
    return activate(options.activation, R.sqrt(result) if code == "L2_POOL_2D" else result)
