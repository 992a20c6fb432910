"""``relay.testing.mlp``: three dense layers."""

from collections.abc import Sequence

from tvm import relax

from tvm_qnn.relay import nn
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing.init import workload_of
from tvm_qnn.relay.testing.layers import dense_add_bias


def get_net(
    batch_size: int,
    num_classes: int = 10,
    image_shape: Sequence[int] = (1, 28, 28),
    dtype: str = "float32",
) -> relax.Function:
    """Return the network's function; its input is "data"."""
    net: relax.Expr = nn.batch_flatten(var("data", shape=(batch_size, *image_shape), dtype=dtype))
    for number, units in enumerate((128, 64), 1):
        net = nn.relu(dense_add_bias(net, units, f"fc{number}"))
    return closed(nn.softmax(dense_add_bias(net, num_classes, "fc3")))


get_workload = workload_of(get_net)
