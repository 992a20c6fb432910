"""Quantized models made from a topology and a seed, for tests, benchmarks and demonstrations.

The weights are random, but chosen so that the networks behave like trained ones: every layer uses
its range, and different pictures get different answers. A run takes the time of the published
networks, and uses the same arithmetic.
"""

from functools import lru_cache

from qnn_ops.errors import QnnError
from tvm_qnn.zoo.file import STYLES as _STYLES
from tvm_qnn.zoo.graph import Graph, channel_scaler, emit
from tvm_qnn.zoo.images import PICTURES as PICTURES
from tvm_qnn.zoo.topologies import TOPOLOGIES

NAMES = tuple(TOPOLOGIES)

INT16_STYLE = "int16x8"
"""The style of 16-bit activations."""

FLOAT_STYLE = "float32"
"""The style without quantization."""

STYLES = tuple(style for style in _STYLES if style not in (INT16_STYLE, FLOAT_STYLE))
"""The styles of 8 bits."""

CLASSIFIERS = ("inception_v3", "mobilenet_v1", "mobilenet_v2", "resnet50")
"""The classifiers that exist in every style."""

MODELS = tuple(
    (name, style) for name in NAMES for style in STYLES if style in TOPOLOGIES[name].styles
)
"""The networks that exist in each style of 8 bits."""


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
            Inception V3, 224 for the other classifiers), or small if `tiny`. For MobileBERT the
            number of words in a text, for spotters of words the number of bands in a spectrum.
        width: the factor for the published numbers of channels; by default 1, or 1/8
            if `tiny`.
        classes: the number of classes, for MobileBERT the number of words; by default as
            published, or 20 if `tiny`.
        seed: the seed of the random weights.
        tiny: whether the defaults are those of a network for unit tests, which is built in
            a fraction of a second.

    Returns:
        The contents of a .tflite file. Its input is one picture [1, size, size, 3], as
        `images.as_input` gives it; MobileBERT's are words, segments and a mask. The output of a
        classifier is the probabilities [1, classes]; the synthetic pictures of seeds 0 to
        PICTURES - 1 have different top-1 classes.

    Raises:
        QnnError: if there is no such network or style, or a number does not fit the network.
    """
    if name not in TOPOLOGIES:
        raise QnnError(f"no network {name!r} in the zoo; it has {', '.join(NAMES)}")
    if style not in _STYLES:
        raise QnnError(f"no style {style!r}; a model can be {', '.join(_STYLES)}")
    topology = TOPOLOGIES[name]
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
    return emit(name, _graph(name, size, width, classes, seed), _STYLES[style])


# All styles of a model share one run in float32, which takes most of the time.
@lru_cache(maxsize=8)
def _graph(name: str, size: int, width: float, classes: int, seed: int) -> Graph:
    graph = Graph(classes, seed)
    results = TOPOLOGIES[name].describe(graph, size, classes, channel_scaler(width))
    graph.results = tuple(value.kind for value in results)
    return graph
