"""A really trained language model: it goes on with a text, byte by byte.

It has 1.1 million parameters, and learned this project's pages and the help that comes with Python.
`python -m tools.prose` trains it anew, in a checkout.
"""

from __future__ import annotations

from pathlib import Path

from qnn_ops.dialect.checks import check_choice

STYLES = ("int4", "int8")
DATA = Path(__file__).with_name("data")


def model(style: str) -> Path:
    """Return the file of the trained and quantized model.

    Args:
        style: "int4" has products with weights of 4 bits, "int8" has integer products of data that
            is quantized when the model runs.

    Returns:
        An ONNX model as onnxruntime-genai's builder writes such models. Its tokens are bytes; a
        text has at most 512.

    Raises:
        QnnError: if there is no such style.
    """
    check_choice("style", style, STYLES)
    return DATA / f"{style}.onnx"
