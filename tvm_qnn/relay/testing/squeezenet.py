"""``relay.testing.squeezenet``: Iandola et al., "SqueezeNet", 2016."""

from collections.abc import Sequence

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay import nn, op
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing import layers
from tvm_qnn.relay.testing.init import Workload, create_workload

_STEMS = {"1.0": (96, 7), "1.1": (64, 3)}
"""Channels and kernel size."""

_SQUEEZED = (16, 16, 32, 32, 48, 48, 64, 64)
"""Channels to which each fire module squeezes the data; it then expands them to eight times."""

_POOLED = {"1.0": (0, 3, 7), "1.1": (0, 2, 4)}
"""The fire modules with a pooling before them."""


def _conv(data: relax.Expr, channels: int, size: int, name: str, stride: int = 1) -> relax.Call:
    window = {"kernel_size": (size, size), "strides": (stride, stride), "padding": size // 2}
    made = layers.conv2d(data, channels=channels, name=name, **window)
    return nn.relu(layers.bias_of(made, f"{name}_bias"))


def get_net(
    batch_size: int, image_shape: Sequence[int], num_classes: int, version: str, dtype: str
) -> relax.Function:
    """Return the network's function; its input is "data".

    Raises:
        QnnError: if there is no such version.
    """
    if version not in _STEMS:
        raise QnnError(f"squeezenet: version is one of {', '.join(_STEMS)}, got {version!r}")
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    net = _conv(data, *_STEMS[version], "conv1", stride=2)
    for index, channels in enumerate(_SQUEEZED):
        name = f"fire{index + 1}"
        if index in _POOLED[version]:
            net = nn.max_pool2d(net, (3, 3), (2, 2))
        net = _conv(net, channels, 1, f"{name}_input_conv")
        sides = (("left", 1), ("right", 3))
        parts = [_conv(net, 4 * channels, size, f"{name}_{side}_conv") for side, size in sides]
        net = op.concatenate(parts, 1)
    net = _conv(net, num_classes, 1, "conv_final")
    return closed(nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(net))))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> Workload:
    """Return the network's module and its parameters.

    Raises:
        QnnError: if there is no such version.
    """
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
