"""A trained language model, which continues a text byte by byte.

It has 1.1 million parameters, and was trained on this project's pages and on the help that comes
with Python. In a checkout, `python -m tools.prose` trains it again.
"""

from pathlib import Path

from qnn_ops.dialect.checks import check_choice

STYLES = ("int4", "int8")
DATA = Path(__file__).with_name("data")


def model(style: str) -> Path:
    """Return the file of the trained and quantized model.

    Args:
        style: "int4" has products with weights of 4 bits; "int8" has integer products of data that
            is quantized at run time.

    Returns:
        An ONNX model in the form of onnxruntime-genai's builder. Its tokens are bytes; a text has
        at most 512.

    Raises:
        QnnError: if there is no such style.
    """
    check_choice("style", style, STYLES)
    return DATA / f"{style}.onnx"
