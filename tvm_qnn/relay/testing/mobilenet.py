"""``relay.testing.mobilenet``: Howard et al., "MobileNets", 2017."""

from collections.abc import Sequence

from tvm import relax

from tvm_qnn.relay import nn
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing import layers
from tvm_qnn.relay.testing.init import Workload, create_workload

_STEM = 32
_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2))
_DEEP = (*((512, 1),) * 5, (1024, 2), (1024, 1))
_SHALLOW = ((1024, 2), (1024, 1))
"""Channels and stride of each block."""


def _conv(
    data: relax.Expr,
    shape: tuple[int, int, int],
    layout: str,
    weight: str,
    norm: str,
    depthwise: bool = False,
) -> relax.Call:
    """Convolve, normalize and apply ReLU; the shape is channels, kernel size and stride."""
    channels, size, stride = shape
    window = {"kernel_size": (size, size), "strides": (stride, stride), "padding": size // 2}
    kernels = layers.conv_kernel_layout(layout, depthwise)
    options = {"data_layout": layout, "kernel_layout": kernels, **window}
    groups = channels if depthwise else 1
    conv = layers.conv2d(data, name=weight, channels=channels, groups=groups, **options)
    return nn.relu(layers.batch_norm_infer(conv, axis=layout.index("C"), name=norm))


def mobile_net(
    num_classes: int = 1000,
    data_shape: Sequence[int] = (1, 3, 224, 224),
    dtype: str = "float32",
    alpha: float = 1.0,
    is_shallow: bool = False,
    layout: str = "NCHW",
) -> relax.Function:
    """Return the network's function; its input is "data"."""
    channels = int(_STEM * alpha)
    data = var("data", shape=data_shape, dtype=dtype)
    net = _conv(data, (channels, 3, 2), layout, "conv_block_1_conv", "conv_block_1_bn")
    for number, (wanted, stride) in enumerate((*_BLOCKS, *(_SHALLOW if is_shallow else _DEEP)), 1):
        name = f"separable_conv_block_{number}"
        net = _conv(net, (channels, 3, stride), layout, name, f"{name}_bn1", depthwise=True)
        channels = int(wanted * alpha)
        net = _conv(net, (channels, 1, 1), layout, f"{name}_conv2", f"{name}_bn2")
    net = nn.batch_flatten(nn.global_avg_pool2d(net, layout))
    return closed(nn.softmax(layers.dense_add_bias(net, num_classes, "fc")))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Workload:
    """Return the network's module and its parameters."""
    net = mobile_net(num_classes, (batch_size, *image_shape), dtype, layout=layout)
    return create_workload(net)
