"""SAME and VALID as pixels."""

from __future__ import annotations

from collections.abc import Sequence

from qnn_ops.windows import window_count


def window_padding(
    scheme: str,
    size: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int] = (1, 1),
) -> tuple[int, int, int, int]:
    """Return the padding (top, left, bottom, right) of a window that moves over an image.

    Source: ComputePaddingHeightWidth of TFLite's kernels/padding.h. SAME gives
    ceil(size / stride) windows; an odd pixel of padding goes below and to the right.

    Args:
        scheme: "SAME" or "VALID".
        size: height and width of the image.
        window: height and width of the window, in taps.
        stride: vertical and horizontal.
        dilation: vertical and horizontal distance of the taps.
    """
    if scheme == "VALID":
        return 0, 0, 0, 0
    top, bottom = same_ends(size[0], window[0], stride[0], dilation[0])
    left, right = same_ends(size[1], window[1], stride[1], dilation[1])
    return top, left, bottom, right


def check_windows(
    size: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    padding: tuple[int, int, int, int],
    dilation: Sequence[int] = (1, 1),
) -> None:
    """Raise unless a window fits an image, in terms of ``window_padding``."""
    for place, name in enumerate(("height", "width")):
        before, after = padding[place], padding[place + 2]
        sizes = size[place], window[place], stride[place], dilation[place]
        window_count(name, *sizes, before, after)


def same_ends(size: int, window: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the padding before and behind one axis that SAME asks for."""
    count = -(-size // stride)
    extent = (window - 1) * dilation + 1
    total = max(0, (count - 1) * stride + extent - size)
    return total // 2, total - total // 2
