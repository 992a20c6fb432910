"""The order of the tutorials: from the first to read to the last."""

from __future__ import annotations

_ORDER = (
    "deploy_tflite.py",
    "quantize_onnx.py",
    "generate_text.py",
    "quantize_mxnet.py",
    "raspberry_pi.py",
    "detector.py",
    "keyword_spotter.py",
    "ranges_to_integers.py",
    "quantized_matmul.py",
    "add_an_operator.py",
)


class ReadingOrder:
    """A key to sort the files of the tutorials by, as sphinx-gallery wants it."""

    def __init__(self, folder: str) -> None:
        """Take the folder, in which all of them are."""

    def __call__(self, name: str) -> int:
        """Return the place of a file; one that has none is an error."""
        return _ORDER.index(name)
