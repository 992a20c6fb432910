"""The networks: torchvision's classifiers, as its exporter writes them to ONNX, and one of LSTMs.

Their pools and paddings are torchvision's. A pool that rounds its size up is replaced by one with
one more row and column of padding.
"""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.onnx_zoo.graph import Graph, Value

# (channels of the bottleneck, blocks, stride of the first block)
_RESNET = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
# (expansion, channels, blocks, stride of the first one)
_MOBILENET_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
# (kernel, expanded channels, channels, squeezes, hard swish, stride)
_MOBILENET_V3 = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip
# (squeezed, expanded channels), with pools between
_SQUEEZENET = (((16, 64),) * 2, ((32, 128),) * 2, ((48, 192),) * 2 + ((64, 256),) * 2)
# channels of 1x1; before and of 3x3; before and of the second 3x3; behind the pool
_GOOGLENET = (
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    (
        (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128),
    ),
    ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)  # fmt: skip


def resnet50(graph: Graph, classes: int) -> Value:
    """Add ResNet-50. He et al., arXiv:1512.03385."""
    scaled = graph.scaled
    x = graph.conv(graph.image, scaled(64), 7, 2)
    x = graph.max_pool(x, 3, 2, (1, 1))
    for channels, blocks, first_stride in _RESNET:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = graph.conv(x, scaled(channels))
            y = graph.conv(y, scaled(channels), 3, stride)
            y = graph.conv(y, scaled(4 * channels), activation="")
            if block == 0:
                x = graph.conv(x, scaled(4 * channels), 1, stride, activation="")
            x = graph.add(y, x, "Relu")
    return graph.classify(graph.mean(x), classes)


def mobilenet_v2(graph: Graph, classes: int) -> Value:
    """Add MobileNet V2. Sandler et al., arXiv:1801.04381."""
    x = graph.conv(graph.image, graph.scaled(32), 3, 2, activation="Relu6")
    for expansion, channels, blocks, first_stride in _MOBILENET_V2:
        for block in range(blocks):
            y = x
            if expansion > 1:
                y = graph.conv(y, x.channels * expansion, activation="Relu6")
            y = graph.depthwise(y, 3, first_stride if block == 0 else 1, "Relu6")
            y = graph.conv(y, graph.scaled(channels), activation="")
            x = graph.add(x, y) if block else y
    x = graph.conv(x, graph.scaled(1280), activation="Relu6")
    return graph.classify(graph.mean(x), classes)


def mobilenet_v3(graph: Graph, classes: int) -> Value:
    """Add MobileNet V3, large. Howard et al., arXiv:1905.02244."""
    scaled = graph.scaled
    x = graph.conv(graph.image, scaled(16), 3, 2, activation="HardSwish")
    for kernel, expanded, channels, squeezes, swish, stride in _MOBILENET_V3:
        activation = "HardSwish" if swish else "Relu"
        y = x
        if expanded != 16:  # the first block has no expansion
            y = graph.conv(y, scaled(expanded), activation=activation)
        y = graph.depthwise(y, kernel, stride, activation)
        if squeezes:
            squeezed = graph.conv(graph.mean(y), scaled(expanded // 4))
            y = graph.gate(y, graph.conv(squeezed, y.channels, activation=""))
        y = graph.conv(y, scaled(channels), activation="")
        x = graph.add(x, y) if stride == 1 and x.channels == y.channels else y
    x = graph.mean(graph.conv(x, scaled(960), activation="HardSwish"))
    return graph.classify(graph.conv(x, scaled(1280), activation="HardSwish"), classes)


def squeezenet(graph: Graph, classes: int) -> Value:
    """Add SqueezeNet 1.1. Iandola et al., arXiv:1602.07360."""
    x = graph.conv(graph.image, graph.scaled(64), 3, 2, pad=0)
    for fires in _SQUEEZENET:
        x = graph.max_pool(x, 3, 2, (0, 0))
        for squeezed, expanded in fires:
            y = graph.conv(x, graph.scaled(squeezed))
            channels = graph.scaled(expanded)
            x = graph.concat(graph.conv(y, channels), graph.conv(y, channels, 3))
    x = graph.mean(graph.conv(x, classes))
    return Value(graph.node("Flatten", x.name), classes)


def googlenet(graph: Graph, classes: int) -> Value:
    """Add GoogLeNet. Szegedy et al., arXiv:1409.4842."""
    scaled = graph.scaled
    x = graph.max_pool(graph.conv(graph.image, scaled(64), 7, 2), 3, 2, (0, 1))
    x = graph.conv(graph.conv(x, scaled(64)), scaled(192), 3)
    for number, blocks in enumerate(_GOOGLENET):
        size = 3 if number < 2 else 2
        x = graph.max_pool(x, size, 2, (0, size - 2))
        for block in blocks:
            first, before, third, before_fifth, fifth, pooled = map(scaled, block)
            x = graph.concat(
                graph.conv(x, first),
                graph.conv(graph.conv(x, before), third, 3),
                graph.conv(graph.conv(x, before_fifth), fifth, 3),
                graph.conv(graph.max_pool(x, 3, 1, (1, 1)), pooled),
            )
    return graph.classify(graph.mean(x), classes)


def bilstm(graph: Graph, classes: int) -> Value:
    """Add two bidirectional LSTMs over 100 steps. Graves et al., arXiv:1303.5778."""
    x = graph.sequence(100, 64)
    for _ in range(2):
        x = graph.lstm(x, graph.scaled(128))
    return graph.classify(graph.last(x), classes)


@dataclass(frozen=True)
class Topology:
    """A network.

    Attributes:
        describe: adds the network to a graph: (graph, classes) -> its scores.
        tiny_size: height and width of the tiny variant's pictures.
    """

    describe: Callable[[Graph, int], Value]
    tiny_size: int = 32


TOPOLOGIES = {
    "resnet50": Topology(resnet50),
    "mobilenet_v2": Topology(mobilenet_v2),
    "mobilenet_v3": Topology(mobilenet_v3),
    "squeezenet": Topology(squeezenet, 47),
    "googlenet": Topology(googlenet),
    "bilstm": Topology(bilstm),
}
"""Networks by name. Networks of pictures are published for 1000 classes of 224 x 224 pixels."""
