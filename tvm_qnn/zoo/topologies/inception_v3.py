"""Inception V3: 94 convolutions, no auxiliary head. Szegedy et al., arXiv:1512.00567."""

from __future__ import annotations

from collections.abc import Callable

from tvm_qnn.zoo.builder import Builder, T

# (channels, kernel height, kernel width); stride 1 and SAME padding
_Layer = tuple[int, int, int]
Scaled = Callable[[int], int]


def inception_v3(b: Builder[T], x: T, classes: int, scaled: Scaled) -> T:
    """Return the network on NHWC pictures.

    Args:
        b: what the layers are made with.
        x: the pictures.
        classes: the number of classes.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities.
    """
    x = _stem(b, x, scaled)
    for pool_channels in (32, 64, 64):
        x = _mixed_35(b, x, scaled, pool_channels)
    x = _reduce_35_to_17(b, x, scaled)
    for channels in (128, 160, 160, 192):
        x = _mixed_17(b, x, scaled, channels)
    x = _reduce_17_to_8(b, x, scaled)
    for _ in range(2):
        x = _mixed_8(b, x, scaled)
    return b.softmax(b.dense(b.mean(x), classes))


def _chain(b: Builder[T], x: T, scaled: Scaled, *layers: _Layer) -> T:
    for channels, height, width in layers:
        x = b.conv(x, scaled(channels), (height, width))
    return x


def _shrink(b: Builder[T], x: T, scaled: Scaled, channels: int) -> T:
    return b.conv(x, scaled(channels), (3, 3), stride=2, padding="VALID")


def _stem(b: Builder[T], x: T, scaled: Scaled) -> T:
    x = _shrink(b, x, scaled, 32)
    x = b.conv(x, scaled(32), (3, 3), padding="VALID")
    x = b.conv(x, scaled(64), (3, 3))
    x = b.max_pool(x, size=3, stride=2)
    x = b.conv(x, scaled(80), (1, 1), padding="VALID")
    x = b.conv(x, scaled(192), (3, 3), padding="VALID")
    return b.max_pool(x, size=3, stride=2)


def _mixed_35(b: Builder[T], x: T, scaled: Scaled, pool_channels: int) -> T:
    pooled = b.avg_pool(x, size=3, stride=1, padding="SAME")
    return b.concat(
        [
            _chain(b, x, scaled, (64, 1, 1)),
            _chain(b, x, scaled, (48, 1, 1), (64, 5, 5)),
            _chain(b, x, scaled, (64, 1, 1), (96, 3, 3), (96, 3, 3)),
            _chain(b, pooled, scaled, (pool_channels, 1, 1)),
        ]
    )


def _reduce_35_to_17(b: Builder[T], x: T, scaled: Scaled) -> T:
    double = _chain(b, x, scaled, (64, 1, 1), (96, 3, 3))
    return b.concat(
        [
            _shrink(b, x, scaled, 384),
            _shrink(b, double, scaled, 96),
            b.max_pool(x, size=3, stride=2),
        ]
    )


def _mixed_17(b: Builder[T], x: T, scaled: Scaled, n: int) -> T:
    pooled = b.avg_pool(x, size=3, stride=1, padding="SAME")
    return b.concat(
        [
            _chain(b, x, scaled, (192, 1, 1)),
            _chain(b, x, scaled, (n, 1, 1), (n, 1, 7), (192, 7, 1)),
            _chain(b, x, scaled, (n, 1, 1), (n, 7, 1), (n, 1, 7), (n, 7, 1), (192, 1, 7)),
            _chain(b, pooled, scaled, (192, 1, 1)),
        ]
    )


def _reduce_17_to_8(b: Builder[T], x: T, scaled: Scaled) -> T:
    single = _chain(b, x, scaled, (192, 1, 1))
    double = _chain(b, x, scaled, (192, 1, 1), (192, 1, 7), (192, 7, 1))
    return b.concat(
        [
            _shrink(b, single, scaled, 320),
            _shrink(b, double, scaled, 192),
            b.max_pool(x, size=3, stride=2),
        ]
    )


def _mixed_8(b: Builder[T], x: T, scaled: Scaled) -> T:
    single = _chain(b, x, scaled, (384, 1, 1))
    double = _chain(b, x, scaled, (448, 1, 1), (384, 3, 3))
    pooled = b.avg_pool(x, size=3, stride=1, padding="SAME")
    return b.concat(
        [
            _chain(b, x, scaled, (320, 1, 1)),
            _fork(b, single, scaled),
            _fork(b, double, scaled),
            _chain(b, pooled, scaled, (192, 1, 1)),
        ]
    )


def _fork(b: Builder[T], x: T, scaled: Scaled) -> T:
    return b.concat([_chain(b, x, scaled, (384, 1, 3)), _chain(b, x, scaled, (384, 3, 1))])
