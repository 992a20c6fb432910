"""MobileNet V1: depthwise separable convolutions. Howard et al., arXiv:1704.04861."""

from __future__ import annotations

from collections.abc import Callable

from tvm_qnn.zoo.builder import Builder, T

# (channels, stride of the depthwise convolution)
_LAYERS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip


def mobilenet_v1(b: Builder[T], x: T, classes: int, scaled: Callable[[int], int]) -> T:
    """Return the network on NHWC pictures.

    Args:
        b: what the layers are made with.
        x: the pictures.
        classes: the number of classes.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities.
    """
    x = b.conv(x, scaled(32), (3, 3), stride=2, activation="RELU6")
    for channels, stride in _LAYERS:
        x = b.depthwise(x, (3, 3), stride)
        x = b.conv(x, scaled(channels), (1, 1), activation="RELU6")
    return b.softmax(b.dense(b.mean(x), classes))
