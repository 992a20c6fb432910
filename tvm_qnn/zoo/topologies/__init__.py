"""The zoo's networks."""

from collections.abc import Callable
from dataclasses import dataclass

from tvm_qnn.zoo.file import STYLES
from tvm_qnn.zoo.graph import Graph, Scaled, Value
from tvm_qnn.zoo.topologies import classifiers, detectors, sequences

_PER_AXIS = ("int8_per_axis",)


@dataclass(frozen=True)
class Topology:
    """A network.

    Attributes:
        describe: adds it to a graph. Its arguments are the graph, a size as below, the number of
            classes, and a function that maps a published number of channels to that in the graph.
            It returns the outputs; the output of a classifier is the probabilities, [1, classes].
        size: the published height and width of its pictures in pixels, number of words in its
            texts, or number of bands in its spectra.
        tiny_size: the same for the tiny variant: small, with odd sizes in its layers.
        styles: the styles in which it can be made.
        classes: the published number of classes.
    """

    describe: Callable[[Graph, int, int, Scaled], list[Value]]
    size: int
    tiny_size: int
    styles: tuple[str, ...] = tuple(STYLES)
    classes: int = 1001


TOPOLOGIES = {
    # Below 75 its VALID layers run out of pixels.
    "inception_v3": Topology(classifiers.inception_v3, 299, 75),
    "mobilenet_v1": Topology(classifiers.mobilenet_v1, 224, 64),
    "mobilenet_v2": Topology(classifiers.mobilenet_v2, 224, 49),
    "resnet50": Topology(classifiers.resnet50, 224, 50),
    "mobilenet_v3": Topology(classifiers.mobilenet_v3, 224, 49, _PER_AXIS),
    "efficientnet_lite0": Topology(classifiers.efficientnet_lite0, 224, 49, _PER_AXIS),
    "unet": Topology(detectors.unet, 256, 32, _PER_AXIS, classes=4),
    "yolov8n": Topology(detectors.yolov8n, 640, 64, _PER_AXIS, classes=80),
    "ssd_mobilenet_v2": Topology(
        detectors.ssd_mobilenet_v2, 300, 64, ("uint8", *_PER_AXIS), classes=90
    ),
    "movenet": Topology(detectors.movenet, 192, 64, _PER_AXIS),
    "mobilebert": Topology(sequences.mobilebert, 128, 24, _PER_AXIS, classes=30522),
    "deit_tiny": Topology(sequences.deit_tiny, 224, 48, _PER_AXIS, classes=1000),
    "ds_cnn_stream": Topology(sequences.ds_cnn_stream, 10, 10, _PER_AXIS, classes=12),
    "svdf_spotter": Topology(sequences.svdf_spotter, 96, 20, _PER_AXIS, classes=12),
    "lstm_spotter": Topology(sequences.lstm_spotter, 10, 10, _PER_AXIS, classes=12),
    "hybrid_lstm_spotter": Topology(sequences.hybrid_lstm_spotter, 10, 10, _PER_AXIS, classes=12),
}
