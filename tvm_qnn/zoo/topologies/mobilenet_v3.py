"""MobileNet V3, large: hard swish, squeeze and excitation. Howard et al., arXiv:1905.02244."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.operators import (
    Add,
    Classify,
    Conv,
    Depthwise,
    HardSwish,
    Mean,
    Mul,
    Reshape,
    Softmax,
    constant,
    pictures,
)


class _Block(NamedTuple):
    kernel: int
    expanded: int
    channels: int
    squeezes: bool
    swish: bool
    stride: int


_BLOCKS = (
    _Block(3, 16, 16, False, False, 1),
    _Block(3, 64, 24, False, False, 2),
    _Block(3, 72, 24, False, False, 1),
    _Block(5, 72, 40, True, False, 2),
    _Block(5, 120, 40, True, False, 1),
    _Block(5, 120, 40, True, False, 1),
    _Block(3, 240, 80, False, True, 2),
    _Block(3, 200, 80, False, True, 1),
    _Block(3, 184, 80, False, True, 1),
    _Block(3, 184, 80, False, True, 1),
    _Block(3, 480, 112, True, True, 1),
    _Block(3, 672, 112, True, True, 1),
    _Block(5, 672, 160, True, True, 2),
    _Block(5, 960, 160, True, True, 1),
    _Block(5, 960, 160, True, True, 1),
)


def mobilenet_v3(graph: Graph, size: int, classes: int, scaled: Scaled) -> list[Value]:
    """Add the network to a graph.

    Args:
        graph: what the layers are added to.
        size: height and width of the pictures, in pixels.
        classes: the number of classes.
        scaled: maps a published number of channels to the one that is built.

    Returns:
        The probabilities, [1, classes].
    """
    x = _conv(pictures(graph, size), scaled(16), 3, 2, swish=True)
    for block in _BLOCKS:
        x = _block(x, block, scaled)
    x = _conv(x, scaled(960), 1, 1, swish=True)
    x = _conv(Mean(keep_dims=True)(x), scaled(1280), 1, 1, swish=True)
    return [Softmax()(Classify(classes)(Reshape((x.shape[3],))(x)))]


def _conv(x: Value, channels: int, kernel: int, stride: int, *, swish: bool) -> Value:
    if swish:
        return HardSwish()(Conv(channels, (kernel, kernel), stride, activation="NONE")(x))
    return Conv(channels, (kernel, kernel), stride)(x)


def _block(x: Value, block: _Block, scaled: Scaled) -> Value:
    y = x
    if block.expanded != 16:  # the first one has no expansion
        y = _conv(y, scaled(block.expanded), 1, 1, swish=block.swish)
    kernel = (block.kernel, block.kernel)
    if block.swish:
        y = HardSwish()(Depthwise(kernel, block.stride, "NONE")(y))
    else:
        y = Depthwise(kernel, block.stride, "RELU")(y)
    if block.squeezes:
        y = _excited(y, scaled(block.expanded // 4))
    y = Conv(scaled(block.channels), (1, 1), activation="NONE")(y)
    return Add()(x, y) if x.shape == y.shape else y


def _excited(x: Value, squeezed: int) -> Value:
    """Scale each channel by a hard sigmoid, relu6(y + 3) / 6, of what the channels' means give."""
    y = Conv(squeezed, (1, 1))(Mean(keep_dims=True)(x))
    y = Conv(x.shape[3], (1, 1), activation="NONE")(y)
    y = Add("RELU6")(y, constant(x.graph, np.array(3.0)))
    y = Mul()(y, constant(x.graph, np.array(1 / 6)))
    return Mul()(x, y)
