"""Networks in ONNX with random weights, in float or quantized by ``quantize_static``."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.onnx_zoo.graph import INPUT, Graph
from benchmarks.onnx_zoo.networks import TOPOLOGIES
from qnn_ops.errors import QnnError

NAMES = tuple(TOPOLOGIES)

STYLES = {"u8s8": "QUInt8", "s8s8": "QInt8", "float32": ""}
"""Styles: dtypes of activations and weights, with ONNX Runtime's name of the activations' dtype.

Networks are quantized as QDQ, per channel; "float32" is not quantized.
"""

_SIZE, _CLASSES = 224, 1000
_TINY_CLASSES, _TINY_WIDTH = 20, 1 / 8
_SAMPLES = 2


def build(name: str, style: str, *, tiny: bool = False) -> bytes:
    """Build a network.

    Args:
        name: one of NAMES.
        style: one of STYLES.
        tiny: whether to build a small variant for tests: an eighth of the channels, a small
            picture.

    Returns:
        The contents of an .onnx file. Its input is a picture, float32 [1, 3, size, size], or a
        sequence, [steps, 1, size]. Its output has scores.

    Raises:
        QnnError: there is no such style.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static

    if style not in STYLES:
        raise QnnError(f"no style {style!r}; a model can be {', '.join(STYLES)}")
    topology = TOPOLOGIES[name]
    graph = Graph(topology.tiny_size if tiny else _SIZE, _TINY_WIDTH if tiny else 1.0)
    model = graph.model(topology.describe(graph, _TINY_CLASSES if tiny else _CLASSES))

    if not STYLES[style]:
        content: bytes = model.SerializeToString()
        return content

    class Samples(CalibrationDataReader):
        """Noise."""

        def __init__(self) -> None:
            self.samples: Iterator[Any] = iter(_samples(graph.shape))

        def get_next(self) -> Any:
            """Return the next sample, None after the last."""
            return next(self.samples, None)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantized.onnx"
        quantize_static(
            model,
            path,
            Samples(),
            per_channel=True,
            activation_type=QuantType[STYLES[style]],
            weight_type=QuantType.QInt8,
        )
        return path.read_bytes()


def _samples(shape: tuple[int, ...]) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [{INPUT: rng.normal(size=shape).astype(np.float32)} for _ in range(_SAMPLES)]
