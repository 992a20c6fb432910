"""``relay.testing.densenet``: Huang et al., "Densely Connected Convolutional Networks", 2016.

As in Relay, a layer only reads the layer before it; the end of a block joins all of its layers.
"""

from collections.abc import Sequence

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay import nn, op
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing import layers
from tvm_qnn.relay.testing.init import Workload, create_workload

_NETWORKS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (69, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
"""Channels of the stem, channels of a layer, and the number of layers in each block."""

_WIDENING = 4


def _conv(data: relax.Expr, channels: int, size: int, name: str, norm: str) -> relax.Call:
    active = nn.relu(layers.batch_norm_infer(data, name=norm))
    window = {"kernel_size": (size, size), "padding": size // 2}
    return layers.conv2d(active, channels=channels, name=name, **window)


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> Workload:
    """Return the network's module and its parameters.

    Raises:
        QnnError: if there is no network of this size.
    """
    if densenet_size not in _NETWORKS:
        raise QnnError(f"densenet: {densenet_size} layers; it may have {[*_NETWORKS]}")
    features, growth, blocks = _NETWORKS[densenet_size]
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    window = {"kernel_size": (7, 7), "strides": (2, 2), "padding": (3, 3)}
    net = layers.conv2d(data, channels=features, name="conv1", **window)
    net = nn.relu(layers.batch_norm_infer(net, name="batch1"))
    net = nn.max_pool2d(net, (3, 3), (2, 2), padding=(1, 1))
    for i, count in enumerate(blocks):
        parts = []
        for j in range(count):
            net = _conv(net, _WIDENING * growth, 1, f"conv2d_1_{i}_{j}", f"batch_1_{i}_{j}")
            net = _conv(net, growth, 3, f"conv2d_2_{i}_{j}", f"batch_2_{i}_{j}")
            parts.append(net)
        net = op.concatenate(parts, 1)
        features += count * growth
        if i + 1 < len(blocks):
            features //= 2
            net = _conv(net, features, 1, f"conv_t_{i}", f"batch_t_{i}")
            net = nn.avg_pool2d(net, (2, 2), (2, 2))
    net = nn.relu(layers.batch_norm_infer(net, name="batch2"))
    net = nn.batch_flatten(nn.avg_pool2d(net, (7, 7)))
    return create_workload(closed(layers.dense_add_bias(net, classes, "dense")))
