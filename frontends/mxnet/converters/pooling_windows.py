"""The windows of MXNet's Pooling, quantized or not, and the divisors of its averages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frontends.errors import UnsupportedError
from frontends.mxnet.converters.context import Context
from frontends.mxnet.converters.windows import image_size, pair
from frontends.mxnet.values import Array
from qnn_ops.errors import QnnError

CONVENTIONS = ("valid", "full", "same")


@dataclass(frozen=True)
class Windows:
    """The windows of a pooling.

    Attributes:
        size: height and width in pixels.
        strides: vertical and horizontal, in pixels.
        padding: top, left, bottom, right; as much as the windows reach over the image.
        counts: the divisors of each window's sum in an average, int64 [rows, columns].
    """

    size: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, int, int, int]
    counts: Array


def pooling_windows(ctx: Context, layout: str) -> Windows:
    """Return the windows that the operator's attributes say.

    By convention "valid", windows that do not fit are left out; by "full", the last one may reach
    beyond the padding. An average divides by the pixels and padding that it covers, or, by
    count_include_pad, the pixels alone; never by what lies beyond the padding.

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
    """Compute, along an axis, how far windows reach over its end, and how much each covers."""
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
