"""``relay.testing.vgg``: Simonyan and Zisserman, "Very Deep Convolutional Networks", 2014."""

from collections.abc import Sequence

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay import nn
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing import layers
from tvm_qnn.relay.testing.init import Workload, create_workload

_CHANNELS = (64, 128, 256, 512, 512)
_CONVOLUTIONS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
"""The convolutions before each pooling, by the number of layers."""

_HIDDEN = 4096


def get_net(
    batch_size: int,
    image_shape: Sequence[int],
    num_classes: int,
    dtype: str,
    num_layers: int = 11,
    batch_norm: bool = False,
) -> relax.Function:
    """Return the network's function; its input is "data".

    Raises:
        QnnError: if there is no network with this number of layers.
    """
    if num_layers not in _CONVOLUTIONS:
        raise QnnError(f"vgg: {num_layers} layers; it may have {[*_CONVOLUTIONS]}")
    net: relax.Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for i, (count, channels) in enumerate(
        zip(_CONVOLUTIONS[num_layers], _CHANNELS, strict=True), 1
    ):
        for j in range(1, count + 1):
            name = f"conv{i}_{j}"
            made = layers.conv2d(net, channels=channels, kernel_size=3, padding=1, name=name)
            net = layers.bias_of(made, f"{name}_bias")
            if batch_norm:
                net = layers.batch_norm_infer(net, name=f"bn{i}_{j}")
            net = nn.relu(net)
        net = nn.max_pool2d(net, (2, 2), (2, 2))
    net = nn.batch_flatten(net)
    for name in ("fc6", "fc7"):
        net = nn.relu(layers.dense_add_bias(net, _HIDDEN, name))
    return closed(nn.softmax(layers.dense_add_bias(net, num_classes, "fc8")))


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Workload:
    """Return the network's module and its parameters.

    Raises:
        QnnError: if there is no network with this number of layers.
    """
    net = get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm)
    return create_workload(net)
