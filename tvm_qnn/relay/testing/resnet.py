"""``relay.testing.resnet``: residual networks whose normalization comes before each convolution.

He et al., "Identity Mappings in Deep Residual Networks", 2016.
"""

from collections.abc import Sequence
from typing import Any

from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay import nn, op
from tvm_qnn.relay.expr import closed, var
from tvm_qnn.relay.testing import layers
from tvm_qnn.relay.testing.init import Workload, create_workload

_UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}
"""Units of each stage by the number of layers, for images of ImageNet's size."""

_SMALL = 28
"""The greatest height with three stages; then the number of layers decides their units."""

_SMALL_STEM = 32
_BOTTLENECKS = 50
_SMALL_BOTTLENECKS = 164
_EPSILON = 2e-5


class _Layers:
    """Layers of one layout."""

    def __init__(self, layout: str) -> None:
        kernels = layers.conv_kernel_layout(layout)
        self.axis = layout.index("C")
        self.layouts = {"data_layout": layout, "kernel_layout": kernels}

    def conv(self, data: relax.Expr, channels: int, size: int, stride: int, name: str) -> Any:
        window = {"kernel_size": (size, size), "strides": (stride, stride), "padding": size // 2}
        return layers.conv2d(data, channels=channels, name=name, **window, **self.layouts)

    def norm(self, data: relax.Expr, name: str, **options: Any) -> relax.Expr:
        return layers.batch_norm_infer(data, epsilon=_EPSILON, axis=self.axis, name=name, **options)

    def unit(
        self, data: relax.Expr, channels: int, stride: int, name: str, first: bool, deep: bool
    ) -> relax.Expr:
        inner = channels // 4
        shapes = (
            [(inner, 1, stride), (inner, 3, 1), (channels, 1, 1)]
            if deep
            else [(channels, 3, stride), (channels, 3, 1)]
        )
        body, start = data, data
        for number, shape in enumerate(shapes, 1):
            active = nn.relu(self.norm(body, f"{name}_bn{number}"))
            start = active if number == 1 else start
            body = self.conv(active, *shape, f"{name}_conv{number}")
        return op.add(body, self.conv(start, channels, 1, stride, f"{name}_sc") if first else data)


def _stages(layer_count: int, height: int) -> tuple[Sequence[int], Sequence[int], bool]:
    """Return units of stages, channels of the stem and the stages, and whether units are deep."""
    if height > _SMALL:
        if layer_count not in _UNITS:
            raise QnnError(f"resnet: {layer_count} layers; it may have {[*_UNITS]}")
        deep = layer_count >= _BOTTLENECKS
        return _UNITS[layer_count], (64, *((64, 128, 256, 512), (256, 512, 1024, 2048))[deep]), deep
    deep = layer_count >= _SMALL_BOTTLENECKS
    units, rest = divmod(layer_count - 2, 9 if deep else 6)
    if rest:
        raise QnnError(f"resnet: {layer_count} layers do not fit a height of {height}")
    return [units] * 3, (16, *((16, 32, 64), (64, 128, 256))[deep]), deep


def get_net(
    batch_size: int,
    num_classes: int,
    num_layers: int = 50,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **_options: Any,
) -> relax.Function:
    """Return the network's function; its input is "data".

    Raises:
        QnnError: if there is no network with this number of layers.
    """
    height = image_shape[layout.index("H") - 1]
    units, (stem, *channels), deep = _stages(num_layers, height)
    made = _Layers(layout)
    net = made.norm(
        var("data", shape=(batch_size, *image_shape), dtype=dtype), "bn_data", scale=False
    )
    if height <= _SMALL_STEM:
        net = made.conv(net, stem, 3, 1, "conv0")
    else:
        net = nn.relu(made.norm(made.conv(net, stem, 7, 2, "conv0"), "bn0"))
        net = nn.max_pool2d(net, (3, 3), (2, 2), padding=(1, 1), layout=layout)
    for stage, (count, size) in enumerate(zip(units, channels, strict=True), 1):
        for unit in range(1, count + 1):
            stride, name = 2 if stage > 1 and unit == 1 else 1, f"stage{stage}_unit{unit}"
            net = made.unit(net, size, stride, name, unit == 1, deep)
    net = nn.global_avg_pool2d(nn.relu(made.norm(net, "bn1")), layout)
    net = layers.dense_add_bias(nn.batch_flatten(net), num_classes, "fc1")
    return closed(nn.softmax(net))


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
    **options: Any,
) -> Workload:
    """Return the network's module and its parameters.

    Raises:
        QnnError: if there is no network with this number of layers.
    """
    net = get_net(batch_size, num_classes, num_layers, image_shape, layout, dtype, **options)
    return create_workload(net)
