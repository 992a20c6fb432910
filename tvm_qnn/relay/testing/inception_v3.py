"""``relay.testing.inception_v3``: Szegedy et al., "Rethinking the Inception Architecture", 2015."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tvm import relax

from tvm_qnn.relay import nn, op
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing import layers
from tvm_qnn.relay.testing.init import workload_of

_EPSILON = 2e-5


class _Conv(NamedTuple):
    """A convolution: its channels, the height and width of its kernel, its stride, its padding."""

    channels: int
    size: tuple[int, int] = (1, 1)
    stride: int = 1
    valid: bool = False


def _square(channels: int, size: int, stride: int = 1, valid: bool = False) -> _Conv:
    return _Conv(channels, (size, size), stride, valid)


Towers = Mapping[str, Sequence[_Conv]]
"""Sequences of convolutions, by the end of their names."""


def _steps(*channels: int, wide_first: bool = True) -> list[_Conv]:
    """Return a convolution of single pixels, then convolutions of rows and columns in turn."""
    sizes = [(1, 7), (7, 1)] if wide_first else [(7, 1), (1, 7)]
    first, *others = channels
    return [_Conv(first), *(_Conv(n, sizes[i % 2]) for i, n in enumerate(others))]


def _sevens(inner: int) -> Towers:
    """Return the towers of a block of long kernels."""
    columns = _steps(*[inner] * 4, 192, wide_first=False)
    return {"": [_Conv(192)], "_tower": _steps(inner, inner, 192), "_tower_1": columns}


_STEM = (_square(32, 3, 2, True), _square(32, 3, 1, True), _square(64, 3))
_NARROW: Towers = {
    "": [_Conv(64)],
    "_tower": [_Conv(48), _square(64, 5)],
    "_tower_1": [_Conv(64), _square(96, 3), _square(96, 3)],
}
_TO_17: Towers = {
    "": [_square(384, 3, 2, True)],
    "_tower": [_Conv(64), _square(96, 3), _square(96, 3, 2, True)],
}
_TO_8: Towers = {
    "_tower": [_Conv(192), _square(320, 3, 2, True)],
    "_tower_1": [*_steps(192, 192, 192), _square(192, 3, 2, True)],
}
_WIDE: Towers = {
    "": [_Conv(320)],
    "_tower": [_Conv(384)],
    "_tower_1": [_Conv(448), _square(384, 3)],
}
_FORK = (_Conv(384, (1, 3)), _Conv(384, (3, 1)))
"""The two parallel convolutions at the end of both longer towers of a wide block."""

_BLOCKS: Sequence[tuple[Towers, str, int]] = (
    *((_NARROW, "average", channels) for channels in (32, 64, 64)),
    (_TO_17, "halve", 0),
    *((_sevens(channels), "average", 192) for channels in (128, 160, 160, 192)),
    (_TO_8, "halve", 0),
    (_WIDE, "average", 192),
    (_WIDE, "maximum", 192),
)
"""Towers, a pooling, and the channels of the convolution after it; 0 for none."""


def _conv(data: relax.Expr, conv: _Conv, name: str) -> relax.Call:
    padding = (0, 0) if conv.valid else tuple(each // 2 for each in conv.size)
    window = {"kernel_size": conv.size, "strides": (conv.stride, conv.stride), "padding": padding}
    made = layers.conv2d(data, channels=conv.channels, name=f"{name}_conv1", **window)
    normal = layers.batch_norm_infer(made, epsilon=_EPSILON, scale=False, name=f"{name}_bn")
    return nn.relu(normal)


def _average(data: relax.Expr, size: int = 3, padding: int = 1) -> relax.Call:
    pad = (padding, padding)
    return nn.avg_pool2d(data, (size, size), (1, 1), padding=pad, count_include_pad=True)


def _halve(data: relax.Expr) -> relax.Call:
    return nn.max_pool2d(data, (3, 3), (2, 2))


def _maximum(data: relax.Expr) -> relax.Call:
    return nn.max_pool2d(data, (3, 3), (1, 1), padding=(1, 1))


_POOLS = {"average": _average, "halve": _halve, "maximum": _maximum}


def _block(data: relax.Expr, name: str, towers: Towers, pool: str, projected: int) -> relax.Call:
    parts: list[relax.Expr] = []
    for end, convs in towers.items():
        part = data
        for index, conv in enumerate(convs):
            part = _conv(part, conv, f"{name}{end}_conv_{index}" if index else f"{name}{end}_conv")
        if towers is _WIDE and end:
            names = (f"{name}{end}_mixed_conv", f"{name}{end}_mixed_conv_1")
            parts += [_conv(part, conv, each) for conv, each in zip(_FORK, names, strict=True)]
        else:
            parts.append(part)
    pooled = _POOLS[pool](data)
    parts.append(_conv(pooled, _Conv(projected), f"{name}_tower_2_conv") if projected else pooled)
    return op.concatenate(parts, 1)


def get_net(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 299, 299),
    dtype: str = "float32",
) -> relax.Function:
    """Return the network's function; its input is "data"."""
    net: relax.Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for index, conv in enumerate(_STEM):
        net = _conv(net, conv, f"conv_{index}" if index else "conv")
    net = _conv(_halve(net), _Conv(80), "conv_3")
    net = _halve(_conv(net, _square(192, 3, 1, True), "conv_4"))
    for index, block in enumerate(_BLOCKS):
        net = _block(net, f"mixed_{index}" if index else "mixed", *block)
    net = nn.batch_flatten(_average(net, 8, 0))
    net = layers.bias_of(layers.dense(net, num_classes, "fc1_weight"), "fc2_bias", -1)
    return closed(nn.softmax(net))


get_workload = workload_of(get_net)
