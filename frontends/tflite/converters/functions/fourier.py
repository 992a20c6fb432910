"""RFFT2D, COMPLEX_ABS, REAL and IMAG.

A complex tensor is a float32 tensor here; its last axis holds the two parts.
"""

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.model import COMPLEX
from frontends.tflite.operators import converter
from qnn_ops.errors import QnnError

_MOST = 4096


@converter("RFFT2D", gives_complex=True)
def convert_rfft2d(ctx: Context) -> relax.Expr:
    """Return a Fourier transform of real matrices, as products with cosines and sines.

    It is computed in float64, like LiteRT's, and rounded to float32.
    """
    data, lengths = ctx.input(0), ctx.integers(1)
    if len(lengths) != 2:
        raise QnnError(f"needs two lengths, got {lengths}")
    height, width = lengths
    if data.dtype != "float32" or len(data.shape) < 2 or 0 in data.shape:
        raise UnsupportedError(f"of {data.dtype} of shape {data.shape}")
    if any(length < 1 or length & (length - 1) or length > _MOST for length in lengths):
        raise UnsupportedError(f"lengths {lengths} that are no powers of two up to {_MOST}")
    if width == 1:
        raise UnsupportedError("rows of one value, of which LiteRT takes no transform")
    rows, columns = (min(a, b) for a, b in zip(data.shape[-2:], lengths, strict=True))
    rank = len(data.shape)
    # Values beyond the data are zero, and add nothing.
    values = ctx.array(0)[..., :rows, :columns].astype("float64")
    angles = _angles(np.arange(columns), np.arange(width // 2 + 1), width)
    real, imaginary = values @ np.cos(angles), values @ -np.sin(angles)
    if height > 1:
        angles = _angles(np.arange(height), np.arange(rows), height)
        cosines, sines = np.cos(angles), np.sin(angles)
        real, imaginary = cosines @ real + sines @ imaginary, cosines @ imaginary - sines @ real
    return R.astype(R.stack([real.expr, imaginary.expr], rank), "float32")


@converter("REAL", "IMAG", dtypes=(COMPLEX,), takes_complex=True)
def convert_part(ctx: Context) -> relax.Expr:
    """Return a part of complex numbers."""
    data, place = ctx.input(0), relax.const(np.int32(ctx.operator.code == "IMAG"))
    return R.take(data.expr, place, len(data.shape) - 1, "clip")


@converter("COMPLEX_ABS", dtypes=(COMPLEX,), takes_complex=True)
def convert_size(ctx: Context) -> Any:
    """Return the sizes of complex numbers."""
    wide = ctx.array(0).astype("float64")
    return np.sqrt((wide * wide).sum(axis=wide.ndim - 1, dtype="float64")).astype("float32")


def _angles(rows: np.ndarray, columns: np.ndarray, length: int) -> np.ndarray:
    # The product is taken modulo the length, because cosines of small angles are exact.
    return 2 * np.pi * (np.outer(rows, columns) % length) / length
