"""Two-dimensional convolution of float32, whose products are added in an order that is stated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops.attributes import float_attr, int_attr, ints_attr, padding_attr
from qnn_ops.checks import check_dtype, check_rank
from qnn_ops.errors import QnnError
from qnn_ops.layouts import DATA_LAYOUTS, KERNEL_LAYOUTS, check_layout, permutation, reorder
from qnn_ops.registry import Attrs, TensorSpec, cannot_overflow, operator
from qnn_ops.traits import Channels, Traits
from qnn_ops.windows import sliding_windows, window_count

Array = np.ndarray[Any, Any]


@operator(
    "data",
    "kernel",
    "bias",
    traits=Traits(
        zero_points={}, moved=None, keeps=None, clamps=False, channels=Channels.CONVOLUTION
    ),
)
def float_conv2d(
    data: relax.Expr,
    kernel: relax.Expr,
    bias: relax.Expr | None = None,
    *,
    strides: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    dilation: int | Sequence[int] = (1, 1),
    groups: int = 1,
    data_layout: str = "NHWC",
    kernel_layout: str = "OHWI",
    out_layout: str = "",
    low: float | None = None,
    high: float | None = None,
) -> relax.Call:
    """Convolve float32 data with a float32 kernel.

    Products are added to 0 one by one, in the order of the kernel's rows, its columns and its
    input channels. Each product and each sum is rounded, to the nearest, half to even. Taps on
    padding add nothing, whatever the weight is. Then the bias is added, and the result clamped; a
    NaN passes the clamp.

    Source of the arithmetic: CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED of LiteRT's reference
    kernels, as its builds for x86 compute them: without fused multiply-adds.

    Args:
        data: float32, [N, H, W, C] or [N, C, H, W].
        kernel: float32, O output channels by I = C / groups input channels by the window, in the
            order of ``kernel_layout``.
        bias: float32 [O].
        strides: of the window, in pixels: one value or (vertical, horizontal).
        padding: in pixels: one value, (vertical, horizontal) or (top, left, bottom, right).
        dilation: distance of the window's taps: one value or (vertical, horizontal).
        groups: how many groups the channels fall into; C for a depthwise convolution.
        data_layout: NHWC or NCHW.
        kernel_layout: OIHW, OHWI, HWIO, IHWO or HWOI.
        out_layout: NHWC or NCHW; empty for the data's.
        low: lowest value of the result; None for any.
        high: highest value of the result; None for any.

    Returns:
        A call whose result is float32 of the layout ``out_layout``.

    Raises:
        QnnError: if a shape, dtype, layout or attribute does not fit.
    """
    attrs: dict[str, Any] = {
        "strides": ints_attr("strides", strides, 2),
        "padding": padding_attr(padding),
        "dilation": ints_attr("dilation", dilation, 2),
        "groups": int_attr("groups", groups),
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout or data_layout,
    }
    bounds = {"low": low, "high": high}
    attrs |= {name: float_attr(name, end) for name, end in bounds.items() if end is not None}
    return float_conv2d.call([data, kernel, bias], **attrs)


def bounds_of(attrs: Attrs) -> tuple[float | None, float | None]:
    """Return the ends of a clamp; None where there is none."""
    return getattr(attrs, "low", None), getattr(attrs, "high", None)


def counts_of(attrs: Attrs, sizes: Sequence[int], window: Sequence[int]) -> tuple[int, int]:
    """Return the rows and columns of a result, given those of the data and of the window."""
    down, along = (
        window_count(
            name,
            sizes[axis],
            window[axis],
            attrs.strides[axis],
            attrs.dilation[axis],
            attrs.padding[axis],
            attrs.padding[axis + 2],
        )
        for axis, name in enumerate(("height", "width"))
    )
    return down, along


@float_conv2d.type_rule
def _type(
    attrs: Attrs, data: TensorSpec, kernel: TensorSpec, bias: TensorSpec | None = None
) -> TensorSpec:
    for name, spec in (("data", data), ("kernel", kernel)):
        check_dtype(name, spec.dtype, ("float32",))
        check_rank(name, spec, 4)
    for name, allowed in (("data", DATA_LAYOUTS), ("kernel", KERNEL_LAYOUTS)):
        check_layout(f"{name}_layout", getattr(attrs, f"{name}_layout"), allowed)
    check_layout("out_layout", attrs.out_layout, DATA_LAYOUTS)
    batch, *sizes, channels = reorder(data.shape, attrs.data_layout, "NHWC")
    units, *window, inputs = reorder(kernel.shape, attrs.kernel_layout, "OHWI")
    groups = attrs.groups
    if groups < 1 or units % groups or inputs * groups != channels:
        raise QnnError(
            f"{groups} groups of a kernel of shape {kernel.shape} do not fit data of shape "
            f"{data.shape}"
        )
    if bias is not None and (bias.dtype, bias.shape) != ("float32", (units,)):
        raise QnnError(f"bias must be float32 of shape ({units},), got {bias.dtype} {bias.shape}")
    low, high = bounds_of(attrs)
    if not all(np.isfinite(end) for end in (low, high) if end is not None):
        raise QnnError(f"bounds must be finite, got {low} and {high}")
    counts = counts_of(attrs, sizes, window)
    return TensorSpec(reorder((batch, *counts, units), "NHWC", attrs.out_layout), "float32")


float_conv2d.overflow_rule(cannot_overflow)


@float_conv2d.reference
def _reference(attrs: Attrs, data: Array, kernel: Array, bias: Array | None = None) -> Array:
    weights = kernel.transpose(permutation(attrs.kernel_layout, "OHWI"))
    images = data.transpose(permutation(attrs.data_layout, "NHWC"))
    units, height, width, inputs = weights.shape
    pixels = np.ones((*images.shape[:3], 1), np.float32)
    taps, inside = (_taps(attrs, each, (height, width)) for each in (images, pixels))
    number = np.arange(units) // (units // attrs.groups)
    total = np.zeros((*taps.shape[:3], units), np.float32)
    with np.errstate(all="ignore"):
        for row, column, channel in np.ndindex(height, width, inputs):
            factors = taps[..., number * inputs + channel, row, column]
            sums = total + factors * weights[:, row, column, channel]
            total = np.where(inside[..., row, column] > 0, sums, total)
        if bias is not None:
            total = total + bias
        for end, is_beyond in zip(bounds_of(attrs), (np.less, np.greater), strict=True):
            if end is not None:
                total = np.where(is_beyond(total, np.float32(end)), np.float32(end), total)
    return np.ascontiguousarray(total.transpose(permutation("NHWC", attrs.out_layout)))


def _taps(attrs: Attrs, images: Array, window: tuple[int, int]) -> Array:
    """Return what the taps of each window read: [N, rows, columns, C, height, width]."""
    top, left, bottom, right = attrs.padding
    (down, along), (rows, columns) = attrs.strides, attrs.dilation
    padded = np.pad(images, ((0, 0), (top, bottom), (left, right), (0, 0)))
    extent = (window[0] - 1) * rows + 1, (window[1] - 1) * columns + 1
    return sliding_windows(padded, extent)[:, ::down, ::along, :, ::rows, ::columns]
