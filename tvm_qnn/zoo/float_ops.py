"""Float32 layers in numpy, NHWC, with TFLite's SAME and VALID padding."""

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from qnn_ops.errors import QnnError

Real = npt.NDArray[np.float32]

_COLUMNS_AT_ONCE = 1 << 23  # elements of the unfolded input in memory at a time


def conv2d(x: Real, kernel: Real, stride: int, padding: str) -> Real:
    """Convolve x [N, H, W, I] with a kernel [KH, KW, I, O], without bias."""
    channels = kernel.shape[3]
    matrix = kernel.reshape(-1, channels)
    windows = _windows(x, kernel.shape[:2], stride, padding)
    result = np.empty((*windows.shape[:3], channels), np.float32)
    step = max(1, _COLUMNS_AT_ONCE // (prod(windows.shape[1:3]) * len(matrix)))
    for start in range(0, len(x), step):
        some = windows[start : start + step].transpose(0, 1, 2, 4, 5, 3)
        out = result[start : start + step].reshape(-1, channels)
        np.matmul(some.reshape(-1, len(matrix)), matrix, out=out)
    return result


def depthwise_conv2d(x: Real, kernel: Real, stride: int, padding: str) -> Real:
    """Convolve x [N, H, W, C] with a kernel [KH, KW, C] for each channel, without bias."""
    taps = _taps(x, kernel.shape[:2], stride, padding)
    weights = kernel.reshape(-1, kernel.shape[2])
    result: Real = next(taps) * weights[0]
    for tap, weight in zip(taps, weights[1:], strict=True):
        result += tap * weight
    return result


def max_pool2d(x: Real, size: int, stride: int, padding: str) -> Real:
    """Take the largest value of each size x size window of x [N, H, W, C]."""
    return reduce(np.maximum, _taps(x, (size, size), stride, padding, -np.inf))


def avg_pool2d(x: Real, size: int, stride: int, padding: str) -> Real:
    """Take the mean of each size x size window of x [N, H, W, C]; padding does not count."""
    ones = np.ones((1, *x.shape[1:3], 1), np.float32)
    total, count = (sum(_taps(v, (size, size), stride, padding)) for v in (x, ones))
    return np.asarray(total / count, np.float32)


def _taps(
    x: Real, kernel: Sequence[int], stride: int, padding: str, fill: float = 0
) -> Iterator[Real]:
    """Yield for each position in the kernel the elements under it, as views [N, OH, OW, C]."""
    windows = _windows(x, kernel, stride, padding, fill)
    return (windows[..., row, column] for row, column in np.ndindex(*kernel))


def _windows(x: Real, kernel: Sequence[int], stride: int, padding: str, fill: float = 0) -> Real:
    """Return the elements under a kernel [KH, KW], as a view [N, OH, OW, C, KH, KW].

    Raises:
        QnnError: if the kernel does not fit into the input.
    """
    pads = [(0, 0)]
    for extent, size in zip(x.shape[1:3], kernel, strict=True):
        if padding == "VALID" and extent < size:
            raise QnnError(f"picture too small: a {size}-wide kernel meets an extent of {extent}")
        missing = max(0, (-(-extent // stride) - 1) * stride + size - extent)
        # An odd row or column of padding comes last.
        pads.append((missing // 2, -(-missing // 2)) if padding == "SAME" else (0, 0))
    if any(map(any, pads)):
        x = np.pad(x, [*pads, (0, 0)], constant_values=fill)
    return sliding_window_view(x, kernel, (1, 2))[:, ::stride, ::stride]
