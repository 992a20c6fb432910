"""Quantized models made from a topology and a seed, for tests, benchmarks and demonstrations.

The weights are random, but chosen so that the networks live: every layer uses its range, and
different pictures get different answers. What is computed on them takes the time, and meets
the arithmetic, of the published networks.
"""

from __future__ import annotations

from functools import lru_cache

from qnn_ops.errors import QnnError
from tvm_qnn.zoo import calibrate as _calibrate
from tvm_qnn.zoo.emit import STYLES as _STYLES
from tvm_qnn.zoo.emit import emit as _emit
from tvm_qnn.zoo.topologies import TOPOLOGIES as _TOPOLOGIES

NAMES = tuple(_TOPOLOGIES)
STYLES = tuple(style for style, how in _STYLES.items() if how.dtype != "int16")
"""Those of 8 bits."""

INT16_STYLE = "int16x8"
"""The style of 16-bit activations."""

PICTURES = _calibrate.PICTURES

_TINY_WIDTH = 1 / 8
_TINY_CLASSES = 20

# The styles of a model share one calibration, which takes most of the time.
_calibration = lru_cache(maxsize=8)(_calibrate.calibrate)


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
    """Build a quantized image classifier.

    Args:
        name: "inception_v3", "mobilenet_v1", "mobilenet_v2" or "resnet50".
        style: "uint8": asymmetric weights and activations, and concatenations whose inputs
            keep their own scales. "int8": symmetric weights, one scale for each tensor.
            "int8_per_axis": the same with one scale for each channel of a convolution.
            "int16x8": int16 activations, and weights as those of "int8_per_axis".
        size: height and width of the picture in pixels; by default as published (299 for
            Inception V3, 224 for the others), or small if `tiny`.
        width: what the published numbers of channels are multiplied by; by default 1, or 1/8
            if `tiny`.
        classes: the number of classes; by default 1001, or 20 if `tiny`.
        seed: what the weights are drawn from.
        tiny: whether the defaults are those of a network for unit tests, which is built in
            a fraction of a second.

    Returns:
        The contents of a .tflite file. Its input is one picture [1, size, size, 3], as
        `images.as_input` gives it; its output the probabilities [1, classes]. The synthetic
        pictures of seeds 0 to PICTURES - 1 have different top-1 classes.

    Raises:
        QnnError: if there is no such network or style, or a number does not fit the network.
    """
    if name not in _TOPOLOGIES:
        raise QnnError(f"no network {name!r} in the zoo; it has {', '.join(NAMES)}")
    if style not in _STYLES:
        raise QnnError(f"no style {style!r}; a model can be {', '.join(_STYLES)}")
    topology = _TOPOLOGIES[name]
    if size is None:
        size = topology.tiny_size if tiny else topology.size
    if width is None:
        width = _TINY_WIDTH if tiny else 1.0
    if classes is None:
        classes = _TINY_CLASSES if tiny else 1001
    calibration = _calibration(name, size, width, classes, seed)
    return _emit(name, _STYLES[style], calibration, size, width, classes)
