"""Float32 layers in numpy, NHWC, with TFLite's SAME and VALID padding."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from qnn_ops.errors import QnnError

Real = npt.NDArray[np.float32]

_COLUMNS_AT_ONCE = 1 << 23  # elements of the unfolded input in memory at a time


def output_extent(extent: int, kernel: int, stride: int, padding: str) -> int:
    """Return the height or width of a window layer's output.

    Raises:
        QnnError: if the kernel does not fit into the input.
    """
    if padding == "SAME":
        return -(-extent // stride)
    if extent < kernel:
        raise QnnError(f"picture too small: a {kernel}-wide kernel meets an extent of {extent}")
    return (extent - kernel) // stride + 1


def conv2d(x: Real, kernel: Real, stride: int, padding: str) -> Real:
    """Convolve x [N, H, W, I] with a kernel [KH, KW, I, O], without bias."""
    kernel_height, kernel_width, _, channels = kernel.shape
    height = output_extent(x.shape[1], kernel_height, stride, padding)
    width = output_extent(x.shape[2], kernel_width, stride, padding)
    matrix = kernel.reshape(-1, channels)
    result = np.empty((len(x), height, width, channels), np.float32)
    step = max(1, _COLUMNS_AT_ONCE // (height * width * len(matrix)))
    for start in range(0, len(x), step):
        taps = _taps(x[start : start + step], kernel_height, kernel_width, stride, padding, 0)
        columns = np.concatenate(list(taps), axis=-1).reshape(-1, len(matrix))
        np.matmul(columns, matrix, out=result[start : start + step].reshape(-1, channels))
    return result


def depthwise_conv2d(x: Real, kernel: Real, stride: int, padding: str) -> Real:
    """Convolve x [N, H, W, C] with a kernel [KH, KW, C] for each channel, without bias."""
    kernel_height, kernel_width, channels = kernel.shape
    taps = _taps(x, kernel_height, kernel_width, stride, padding, 0)
    weights = kernel.reshape(-1, channels)
    result: Real = next(taps) * weights[0]
    for tap, weight in zip(taps, weights[1:], strict=True):
        result += tap * weight
    return result


def max_pool2d(x: Real, size: int, stride: int, padding: str) -> Real:
    """Take the largest value of each size x size window of x [N, H, W, C]."""
    taps = _taps(x, size, size, stride, padding, -np.inf)
    result = next(taps).copy()
    for tap in taps:
        np.maximum(result, tap, out=result)
    return result


def avg_pool2d(x: Real, size: int, stride: int, padding: str) -> Real:
    """Take the mean of each size x size window of x [N, H, W, C]; padding does not count."""
    ones = np.ones((1, *x.shape[1:3], 1), np.float32)
    total, count = (sum(_taps(v, size, size, stride, padding, 0)) for v in (x, ones))
    return np.asarray(total / count, np.float32)


def transpose_conv2d(x: Real, kernel: Real, stride: int) -> Real:
    """Transpose-convolve x [N, H, W, I] with a kernel [KH, KW, I, O]; it grows by `stride`."""
    kernel_height, kernel_width, _, channels = kernel.shape
    batch, height, width, _ = x.shape
    tall, wide = (height - 1) * stride + 1, (width - 1) * stride + 1
    whole = np.zeros((batch, tall + kernel_height, wide + kernel_width, channels), np.float32)
    for row in range(kernel_height):
        for column in range(kernel_width):
            part = whole[:, row : row + tall : stride, column : column + wide : stride]
            part += x @ kernel[row, column]
    # SAME cuts this off at the edges; an odd row or column is cut at the end.
    top, left = (max(0, extent - stride) // 2 for extent in kernel.shape[:2])
    part = whole[:, top : top + height * stride, left : left + width * stride]
    return np.ascontiguousarray(part)


def _taps(
    x: Real, kernel_height: int, kernel_width: int, stride: int, padding: str, fill: float
) -> Iterator[Real]:
    """Yield for each position in the kernel the elements under it, as views [N, OH, OW, C]."""
    height = output_extent(x.shape[1], kernel_height, stride, padding)
    width = output_extent(x.shape[2], kernel_width, stride, padding)
    rows = max(0, (height - 1) * stride + kernel_height - x.shape[1])
    columns = max(0, (width - 1) * stride + kernel_width - x.shape[2])
    if rows or columns:
        before = (rows // 2, columns // 2)  # an odd row or column of padding comes last
        pads = ((0, 0), (before[0], rows - before[0]), (before[1], columns - before[1]), (0, 0))
        x = np.pad(x, pads, constant_values=fill)
    for row in range(kernel_height):
        for column in range(kernel_width):
            yield x[
                :,
                row : row + (height - 1) * stride + 1 : stride,
                column : column + (width - 1) * stride + 1 : stride,
            ]
