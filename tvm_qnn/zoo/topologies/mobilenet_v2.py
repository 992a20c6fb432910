"""MobileNet V2: inverted residuals, linear bottlenecks. Sandler et al., arXiv:1801.04381."""

from __future__ import annotations

from collections.abc import Callable

from tvm_qnn.zoo.builder import Builder, T

# (expansion, channels, repetitions, stride of the first repetition)
_STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip


def mobilenet_v2(b: Builder[T], x: T, classes: int, scaled: Callable[[int], int]) -> T:
    """Return the network on NHWC pictures.

    Args:
        b: what the layers are made with.
        x: the pictures.
        classes: the number of classes.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities.
    """
    channels_in = scaled(32)
    x = b.conv(x, channels_in, (3, 3), stride=2, activation="RELU6")
    for expansion, published, repetitions, first_stride in _STAGES:
        channels = scaled(published)
        for repetition in range(repetitions):
            stride = first_stride if repetition == 0 else 1
            y = x
            if expansion > 1:
                y = b.conv(y, channels_in * expansion, (1, 1), activation="RELU6")
            y = b.depthwise(y, (3, 3), stride)
            y = b.conv(y, channels, (1, 1), activation="NONE")
            x = b.add(x, y) if repetition > 0 else y
            channels_in = channels
    x = b.conv(x, scaled(1280), (1, 1), activation="RELU6")
    return b.softmax(b.dense(b.mean(x), classes))
