"""``relay.testing.dqn``: Mnih et al., "Human-level control through deep reinforcement", 2015."""

from collections.abc import Sequence

from tvm import relax

from tvm_qnn.relay import nn
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing import layers
from tvm_qnn.relay.testing.init import workload_of

_CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Channels, kernel size and stride."""


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> relax.Function:
    """Return the network's function; its input is "data"."""
    net: relax.Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    layouts = {"data_layout": layout, "kernel_layout": layers.conv_kernel_layout(layout)}
    for number, (channels, size, stride) in enumerate(_CONVOLUTIONS, 1):
        window, name = {"kernel_size": size, "strides": stride}, f"conv{number}"
        net = layers.conv2d(net, name=name, channels=channels, **window, **layouts)
        net = nn.relu(layers.bias_of(net, f"{name}_bias", layout.index("C")))
    net = nn.relu(layers.dense_add_bias(nn.batch_flatten(net), 512, "dense1"))
    return closed(layers.dense_add_bias(net, num_actions, "dense2"))


get_workload = workload_of(get_net)
