"""Quantized models made from a topology and a seed, for tests, benchmarks and demonstrations.

The weights are random, but chosen so that the networks behave like trained ones: every layer uses
its range, and different pictures get different answers. A run takes the time of the published
networks, and uses the same arithmetic.
"""

from collections.abc import Mapping
from functools import lru_cache

from qnn_ops.errors import QnnError
from tvm_qnn.zoo import classifiers
from tvm_qnn.zoo.file import STYLES as _STYLES
from tvm_qnn.zoo.graph import Graph, Topology, channel_scaler, emit
from tvm_qnn.zoo.images import PICTURES as PICTURES

TOPOLOGIES = {
    # Below 75 its VALID layers run out of pixels.
    "inception_v3": Topology(classifiers.inception_v3, 299, 75),
    "mobilenet_v1": Topology(classifiers.mobilenet_v1, 224, 64),
    "mobilenet_v2": Topology(classifiers.mobilenet_v2, 224, 49),
    "resnet50": Topology(classifiers.resnet50, 224, 50),
}

NAMES = tuple(TOPOLOGIES)
"""The networks, all of them classifiers."""

INT16_STYLE = "int16x8"
"""The style of 16-bit activations."""

FLOAT_STYLE = "float32"
"""The style without quantization."""

STYLES = tuple(style for style in _STYLES if style not in (INT16_STYLE, FLOAT_STYLE))
"""The styles of 8 bits."""

_TINY_WIDTH = 1 / 8
_TINY_CLASSES = 20


def build(
    name: str,
    style: str = "uint8",
    *,
    size: int | None = None,
    width: float | None = None,
    classes: int | None = None,
    seed: int = 0,
    tiny: bool = False,
    networks: Mapping[str, Topology] = TOPOLOGIES,
) -> bytes:
    """Build a quantized network.

    Args:
        name: one of NAMES.
        style: "uint8": asymmetric weights and activations, and concatenations whose inputs
            keep their own scales. "int8": symmetric weights, one scale for each tensor.
            "int8_per_axis": the same with one scale for each channel of a convolution.
            "int16x8": int16 activations, and weights as those of "int8_per_axis".
            "float32": nothing is quantized.
        size: height and width of the picture in pixels; by default as published (299 for
            Inception V3, 224 for the others), or small if `tiny`.
        width: the factor for the published numbers of channels; by default 1, or 1/8
            if `tiny`.
        classes: the number of classes; by default 1001, or 20 if `tiny`.
        seed: the seed of the random weights.
        tiny: whether the defaults are those of a network for unit tests, which is built in
            a fraction of a second.
        networks: the networks to choose from, by name.

    Returns:
        The contents of a .tflite file. Its input is one picture [1, size, size, 3], as
        `images.as_input` gives it, and its output the probabilities [1, classes]. The synthetic
        pictures of seeds 0 to PICTURES - 1 have different top-1 classes.

    Raises:
        QnnError: if there is no such network or style, or a number does not fit the network.
    """
    if name not in networks:
        raise QnnError(f"no network {name!r} in the zoo; it has {', '.join(networks)}")
    if style not in _STYLES:
        raise QnnError(f"no style {style!r}; a model can be {', '.join(_STYLES)}")
    topology = networks[name]
    if style not in topology.styles:
        raise QnnError(f"{name} is made in {', '.join(topology.styles)}, not in {style}")
    if size is None:
        size = topology.tiny_size if tiny else topology.size
    if width is None:
        width = _TINY_WIDTH if tiny else 1.0
    if classes is None:
        classes = _TINY_CLASSES if tiny else topology.classes
    if size < 1 or width <= 0:
        raise QnnError(f"{name}: size and width must be positive, got {size} and {width}")
    return emit(name, _graph(topology, size, width, classes, seed), _STYLES[style])


# All styles of a model share one run in float32, which takes most of the time.
@lru_cache(maxsize=8)
def _graph(topology: Topology, size: int, width: float, classes: int, seed: int) -> Graph:
    graph = Graph(classes, seed)
    results = topology.describe(graph, size, classes, channel_scaler(width))
    graph.results = tuple(value.kind for value in results)
    return graph
