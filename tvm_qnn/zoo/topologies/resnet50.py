"""ResNet-50, version 1.5: a block's stride is on its 3x3 layer. He et al., arXiv:1512.03385."""

from __future__ import annotations

from collections.abc import Callable

from tvm_qnn.zoo.builder import Builder, T

# (channels of the bottleneck, blocks, stride of the first block)
_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
_EXPANSION = 4


def resnet50(b: Builder[T], x: T, classes: int, scaled: Callable[[int], int]) -> T:
    """Return the network on NHWC pictures.

    Args:
        b: what the layers are made with.
        x: the pictures.
        classes: the number of classes.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities.
    """
    x = b.conv(x, scaled(64), (7, 7), stride=2)
    x = b.max_pool(x, size=3, stride=2, padding="SAME")
    for channels, blocks, first_stride in _STAGES:
        narrow, wide = scaled(channels), scaled(channels * _EXPANSION)
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = b.conv(x, narrow, (1, 1))
            y = b.conv(y, narrow, (3, 3), stride)
            y = b.conv(y, wide, (1, 1), activation="NONE")
            shortcut = x if block > 0 else b.conv(x, wide, (1, 1), stride, activation="NONE")
            x = b.add(shortcut, y, activation="RELU")
    return b.softmax(b.dense(b.mean(x), classes))
