"""``relay.testing.dcgan``: the generator of Radford et al., "… Deep Convolutional GANs", 2015."""

from collections.abc import Sequence

from tvm import relax

from tvm_qnn.relay import nn, op
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing import layers
from tvm_qnn.relay.testing.init import Workload, create_workload

_EPSILON = 1e-5 + 1e-12
_KERNELS = {"NCHW": "IOHW", "NHWC": "HWOI"}
_SIDE = 4


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    code: relax.Expr | None = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> relax.Function:
    """Return the network's function; its input "data" are random numbers."""
    axis = layout.index("C")
    code = code or var("data", shape=(batch_size, random_len), dtype=dtype)
    net = nn.relu(layers.dense(code, _SIDE * _SIDE * ngf * 8, "dense_weight"))
    shape = [-1, _SIDE, _SIDE]
    shape.insert(axis, ngf * 8)
    net = op.reshape(net, shape)
    window = {"kernel_size": (4, 4), "strides": (2, 2), "padding": (1, 1)}
    layouts = {"data_layout": layout, "kernel_layout": _KERNELS[layout]}
    for step, channels in enumerate((4 * ngf, 2 * ngf, ngf, oshape[0]), 2):
        name = f"g{step}_deconv"
        net = layers.conv2d_transpose(net, name=name, channels=channels, **window, **layouts)
        if channels != oshape[0]:
            name = f"g{step}_batch_norm"
            net = layers.batch_norm_infer(net, name=name, axis=axis, epsilon=_EPSILON, scale=False)
            net = nn.relu(net)
    return closed(op.tanh(net))


def get_workload(
    batch_size: int,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Workload:
    """Return the network's module and its parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, None, layout, dtype))
