"""The layers of the digit classifier, forwards and backwards, in numpy.

Data is NHWC and kernels are stored as TFLite stores them: OHWI for a convolution, [1, H, W, C]
for a depthwise one, [units, inputs] for a dense layer. Every layer returns its result and its
backward function, which takes the gradient with respect to the result and returns those with
respect to the arguments, in their order.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from qnn_ops.dialect.windows import sliding_windows

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Backward = Callable[[Array], tuple[Array, ...]]


def _patches(data: Array, height: int, width: int) -> Array:
    """View every pixel's neighbourhood [N, H, W, height, width, C], zeros outside (SAME, odd)."""
    top, left = height // 2, width // 2
    padded = np.pad(data, ((0, 0), (top, top), (left, left), (0, 0)))
    windows = sliding_windows(padded, (height, width))
    return windows.transpose(0, 1, 2, 4, 5, 3)


def _add_patches(patches: Array) -> Array:
    """Transpose `_patches`: add each neighbourhood to the pixels it was taken from."""
    batch, rows, columns, height, width, channels = patches.shape
    top, left = height // 2, width // 2
    padded = np.zeros((batch, rows + 2 * top, columns + 2 * left, channels))
    for row in range(height):
        for column in range(width):
            padded[:, row : row + rows, column : column + columns] += patches[:, :, :, row, column]
    return padded[:, top : top + rows, left : left + columns]


def conv2d(data: Array, kernel: Array, bias: Array) -> tuple[Array, Backward]:
    """Convolve, stride 1, SAME padding: [N, H, W, I] by [O, KH, KW, I] to [N, H, W, O]."""
    batch, rows, columns, inputs = data.shape
    outputs, height, width, _ = kernel.shape
    # One matrix product a picture: so small that BLAS keeps it on one thread, which is faster
    # here than sharing it out, and sums in the same order on any number of cores.
    patches = _patches(data, height, width).reshape(batch, rows * columns, -1)
    matrix = kernel.reshape(outputs, -1)
    result = (patches @ matrix.T + bias).reshape(batch, rows, columns, outputs)

    def backward(gradient: Array) -> tuple[Array, ...]:
        flat = gradient.reshape(batch, rows * columns, outputs)
        to_patches = (flat @ matrix).reshape(batch, rows, columns, height, width, inputs)
        to_kernel = (flat.transpose(0, 2, 1) @ patches).sum(0).reshape(kernel.shape)
        return _add_patches(to_patches), to_kernel, flat.sum((0, 1))

    return result, backward


def depthwise_conv2d(data: Array, kernel: Array, bias: Array) -> tuple[Array, Backward]:
    """Convolve one [KH, KW] filter per channel, stride 1, SAME: kernel [1, KH, KW, C]."""
    _, height, width, _ = kernel.shape
    patches = _patches(data, height, width)
    result = np.einsum("nhwijc,ijc->nhwc", patches, kernel[0]) + bias

    def backward(gradient: Array) -> tuple[Array, ...]:
        to_patches = gradient[:, :, :, None, None, :] * kernel[0]
        to_kernel = np.einsum("nhwijc,nhwc->ijc", patches, gradient)[None]
        return _add_patches(to_patches), to_kernel, gradient.sum((0, 1, 2))

    return result, backward


def dense(data: Array, weight: Array, bias: Array) -> tuple[Array, Backward]:
    """Compute a dense layer: [N, K] by [units, K] to [N, units]."""

    def backward(gradient: Array) -> tuple[Array, ...]:
        return gradient @ weight, gradient.T @ data, gradient.sum(0)

    return data @ weight.T + bias, backward


def relu(data: Array) -> tuple[Array, Backward]:
    """Compute max(x, 0) of every element."""
    return np.maximum(data, 0.0), lambda gradient: (gradient * (data > 0),)


def _blocks(data: Array) -> Array:
    """Reshape [N, H, W, C] to [N, H/2, W/2, 4, C]."""
    batch, height, width, channels = data.shape
    split = data.reshape(batch, height // 2, 2, width // 2, 2, channels)
    return split.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height // 2, width // 2, 4, channels)


def _unblock(blocks: Array) -> Array:
    """Return the inverse of `_blocks`."""
    batch, height, width, _, channels = blocks.shape
    split = blocks.reshape(batch, height, width, 2, 2, channels).transpose(0, 1, 3, 2, 4, 5)
    return split.reshape(batch, 2 * height, 2 * width, channels)


def max_pool2d(data: Array) -> tuple[Array, Backward]:
    """Return the largest of each 2×2 block: [N, H, W, C] to [N, H/2, W/2, C], H and W even."""
    blocks = _blocks(data)
    winner = blocks.argmax(3)[:, :, :, None, :]  # the first of equals gets the gradient

    def backward(gradient: Array) -> tuple[Array, ...]:
        to_blocks = np.zeros_like(blocks)
        np.put_along_axis(to_blocks, winner, gradient[:, :, :, None, :], 3)
        return (_unblock(to_blocks),)

    return np.take_along_axis(blocks, winner, 3)[:, :, :, 0, :], backward


def average_pool2d(data: Array) -> tuple[Array, Backward]:
    """Return the mean of each 2×2 block: [N, H, W, C] to [N, H/2, W/2, C], H and W even."""

    def backward(gradient: Array) -> tuple[Array, ...]:
        return (_unblock(np.repeat(gradient[:, :, :, None, :] / 4, 4, axis=3)),)

    return _blocks(data).mean(3), backward


def softmax(logits: Array) -> Array:
    """Compute probabilities [N, K] of logits [N, K]."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    probabilities: Array = powers / powers.sum(1, keepdims=True)
    return probabilities


def cross_entropy(logits: Array, labels: Labels) -> tuple[float, Array]:
    """Return the mean cross entropy of softmax(logits), and its gradient with respect to logits."""
    rows = np.arange(len(labels))
    probabilities = softmax(logits)
    loss = -float(np.log(probabilities[rows, labels]).mean())
    gradient = probabilities.copy()
    gradient[rows, labels] -= 1
    return loss, gradient / len(labels)
