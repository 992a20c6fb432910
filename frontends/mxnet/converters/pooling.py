"""Pooling of floats and of quantized data: its windows, and the divisors of its averages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.convolution import image_layout, image_size, pair
from frontends.mxnet.converters.quantization import check_quantized, range_at
from frontends.mxnet.converters.registry import converter
from frontends.mxnet.scalars import Array, Value
from qnn_ops import quantized_pool2d
from qnn_ops.errors import QnnError

CONVENTIONS = ("valid", "full", "same")


@dataclass(frozen=True)
class Windows:
    """The windows of a pooling.

    Attributes:
        size: height and width in pixels.
        strides: vertical and horizontal, in pixels.
        padding: top, left, bottom, right: how far the windows reach beyond the image.
        counts: the divisors of each window's sum in an average, int64 [rows, columns].
    """

    size: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int, int, int]
    counts: Array


def pooling_windows(ctx: Context, layout: str) -> Windows:
    """Return the windows that the operator's attributes describe.

    With convention "valid", windows that do not fit are left out; with "full", the last one may
    reach beyond the padding. An average divides by the pixels and padding that it covers, or, with
    count_include_pad false, only by the pixels. Positions beyond the padding never count.

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
    return Windows(size, strides, (*padding, *after), counts[0][:, None] * counts[1])


def _along(
    size: int, window: int, stride: int, pad: int, *, is_full: bool, with_padding: bool
) -> tuple[int, Array]:
    """Compute how far windows reach beyond the end of an axis, and how much each covers."""
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
    windows = pooling_windows(ctx, layout)
    if kind == "max":
        return R.nn.max_pool2d(
            data, windows.size, windows.strides, list(windows.padding), layout=layout
        )
    return _mean(ctx, windows, layout, is_sum=kind == "sum")


def _mean(ctx: Context, windows: Windows, layout: str, *, is_sum: bool) -> relax.Expr:
    taps = windows.size[0] * windows.size[1]
    mean = R.nn.avg_pool2d(
        ctx.expr(0),
        windows.size,
        windows.strides,
        list(windows.padding),
        count_include_pad=True,
        layout=layout,
    )
    if is_sum:
        return R.multiply(mean, relax.const(np.float32(taps)))
    if (windows.counts == taps).all():
        return mean
    factors = (taps / windows.counts).astype(np.float32)
    spatial = [slice(None) if letter in "HW" else None for letter in layout]
    return R.multiply(mean, ctx.parameter(factors[tuple(spatial)], "_factors"))


@converter("_contrib_quantized_pooling")
def convert_quantized_pooling(ctx: Context) -> list[Value]:
    """Return the maximum or average of each window; the range stays what it was.

    An average divides by the size of its window, including padding and positions beyond it, unless
    count_include_pad is false.
    """
    check_quantized(ctx, 0)
    layout = image_layout(ctx)
    kind = ctx.attrs.text("pool_type", "max", ("max", "avg"))
    bounds = range_at(ctx, 1)
    size, strides, padding = image_size(ctx, layout), (1, 1), (0, 0, 0, 0)
    if not ctx.attrs.flag("global_pool", False):
        windows = pooling_windows(ctx, layout)
        size, strides, padding = windows.size, windows.strides, windows.padding
    pooled = quantized_pool2d(
        ctx.expr(0),
        kind,
        size,
        strides,
        padding,
        layout,
        rounding="half_even" if kind == "avg" else "half_away",
        count_include_pad=kind == "avg" and ctx.attrs.flag("count_include_pad", True),
    )
    return [pooled, bounds.low, bounds.high]
