"""Networks in TFLite with random weights: those of ``tvm_qnn.zoo``, and others."""

from functools import partial

from benchmarks.tflite_zoo import classifiers, detectors, sequences
from tvm_qnn import zoo
from tvm_qnn.zoo.graph import Topology

_PER_AXIS = ("int8_per_axis",)

TOPOLOGIES = {
    **zoo.TOPOLOGIES,
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

NAMES = tuple(TOPOLOGIES)

MODELS = tuple(
    (name, style)
    for name, topology in TOPOLOGIES.items()
    for style in zoo.STYLES
    if style in topology.styles
)
"""The networks that exist in each style of 8 bits."""

build = partial(zoo.build, networks=TOPOLOGIES)
"""Build one of NAMES; the arguments are those of ``tvm_qnn.zoo.build``.

The size of MobileBERT is the number of words in a text, and its classes are the words that it
knows. The size of a spotter of words is the number of bands in a spectrum. The inputs of MobileBERT
are words, segments and a mask.
"""
