"""Trained models: scikit-learn's handwritten digits, classified and detected in 8 bits.

The model files and the held-out pictures lie beside the code, so that using them needs neither
training nor scikit-learn. In a checkout, `python -m tools.digits` makes them again, and `python -m
tools.digits.detector` makes the detector.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qnn_ops.arithmetic.encoding import Encoding
from qnn_ops.errors import QnnError

STYLES = ("int8", "uint8")
SIZE = 8
INK = 16  # the darkest value of a picture

DATA = Path(__file__).with_name("data")


def _checked(style: str) -> str:
    if style not in STYLES:
        raise QnnError(f"digits: style must be one of {', '.join(STYLES)}, got {style!r}")
    return style


def model(style: str) -> bytes:
    """Return the trained and quantized model.

    Args:
        style: "int8" has symmetric weights, per axis in its convolutions, and asymmetric
            activations; "uint8" has asymmetric weights and activations, all per tensor.

    Returns:
        The contents of a .tflite file. Its input is [1, 8, 8, 1], quantized as `input_encoding`
        says; its output, [1, 10], has the probabilities of the digits 0 to 9 in steps of 1/256.

    Raises:
        QnnError: if there is no such style.
    """
    return (DATA / f"digits_{_checked(style)}.tflite").read_bytes()


def detector() -> bytes:
    """Return a trained detector of digits, quantized to int8.

    Returns:
        The contents of a .tflite file. Its input is [1, 48, 48, 1], a page from -128 (paper) to 127
        (ink), as ``tvm_qnn.digits.scenes`` makes them; its outputs are those of
        TFLite_Detection_PostProcess: boxes, classes, scores and their number.
    """
    return (DATA / "detector.tflite").read_bytes()


def held_out() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the digits that were not used in training.

    Returns:
        Pictures [450, 8, 8], uint8 from 0 (paper) to 16 (ink), and labels [450], int64.
    """
    with np.load(DATA / "held_out.npz") as arrays:
        return arrays["pictures"], arrays["labels"]


def input_encoding(style: str) -> Encoding:
    """Return the encoding of a model's input: a picture's value divided by 16.

    One step is 1/16, so that every picture is represented exactly.

    Raises:
        QnnError: if there is no such style.
    """
    return Encoding(1 / INK, int(np.iinfo(_checked(style)).min), style)


def to_input(pictures: npt.ArrayLike, style: str) -> npt.NDArray[Any]:
    """Return pictures as a model's quantized input.

    Args:
        pictures: integers [N, 8, 8] from 0 (paper) to 16 (ink).
        style: the model's style, "int8" or "uint8".

    Returns:
        An array [N, 8, 8, 1] with the dtype in the style's name.

    Raises:
        QnnError: if the pictures have another shape, dtype or range, or there is no such style.
    """
    encoding = input_encoding(style)
    values = np.asarray(pictures)
    if values.ndim != 3 or values.shape[1:] != (SIZE, SIZE):
        raise QnnError(f"digits: pictures need the shape (N, {SIZE}, {SIZE}), got {values.shape}")
    if not np.issubdtype(values.dtype, np.integer):
        raise QnnError(f"digits: pictures need an integer dtype, got {values.dtype}")
    if values.size and not (values.min() >= 0 and values.max() <= INK):
        raise QnnError(
            f"digits: pictures need values from 0 to {INK}, got {values.min()} to {values.max()}"
        )
    return (values.astype(np.int64) + encoding.zero_point).astype(encoding.dtype)[..., None]
