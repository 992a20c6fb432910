"""The positions of a sliding window, shared by operators that move one over an image."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import Attrs
from qnn_ops.errors import QnnError


def window_count(
    name: str, size: int, window: int, stride: int, dilation: int, before: int, after: int
) -> int:
    """Count the windows that fit along one axis of an image.

    Args:
        name: the axis's name in errors ("height", "width").
        size: the image's size along the axis, in pixels.
        window: the number of the window's taps.
        stride: the distance from one window to the next, in pixels.
        dilation: the distance from one tap to the next, in pixels.
        before: padding before the image, in pixels.
        after: padding after the image, in pixels.

    Raises:
        QnnError: if a value is out of range or not even one window fits.
    """
    if window < 1 or stride < 1 or dilation < 1 or before < 0 or after < 0:
        raise QnnError(
            f"along the {name}, window, stride and dilation must be at least 1 and padding at "
            f"least 0, got window {window}, stride {stride}, dilation {dilation}, padding "
            f"{before} and {after}"
        )
    extent = (window - 1) * dilation + 1
    padded = size + before + after
    if extent > padded:
        raise QnnError(
            f"the window spans {extent} pixels along the {name}, the padded data has {padded}"
        )
    return (padded - extent) // stride + 1


def counts_of(attrs: Attrs, image: Sequence[int], window: Sequence[int]) -> tuple[int, int]:
    """Count the windows of a convolution along height and width of an image."""
    (stride_y, stride_x), (dilation_y, dilation_x) = attrs.strides, attrs.dilation
    top, left, bottom, right = attrs.padding
    return (
        window_count("height", image[0], window[0], stride_y, dilation_y, top, bottom),
        window_count("width", image[1], window[1], stride_x, dilation_x, left, right),
    )


def windows_of(attrs: Attrs, images: Array, window: Sequence[int], fill: int = 0) -> Array:
    """Return what the taps of each window read: [N, rows, columns, C, height, width].

    Args:
        attrs: strides, padding and, unless it is a pool, dilation.
        images: NHWC.
        window: height and width.
        fill: the value of padding.
    """
    top, left, bottom, right = attrs.padding
    down, along = attrs.strides
    rows, columns = getattr(attrs, "dilation", (1, 1))
    ends = ((0, 0), (top, bottom), (left, right), (0, 0))
    padded = np.pad(images, ends, "constant", constant_values=fill)
    extent = (window[0] - 1) * rows + 1, (window[1] - 1) * columns + 1
    return sliding_windows(padded, extent)[:, ::down, ::along, :, ::rows, ::columns]


def sliding_windows(images: Array, window: Sequence[int]) -> Array:
    """Return every window of NHWC images, without copying: [N, rows, columns, C, height, width]."""
    # The type stubs of older numpy versions accept a single axis only.
    view: Any = np.lib.stride_tricks.sliding_window_view
    windows: Array = view(images, tuple(window), axis=(1, 2))
    return windows
