"""BITCAST."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tests.support.tflite import Sheet

ANY = (1,)  # a declared shape: LiteRT works shapes out by itself
TYPES = ("int8", "uint8", "int16", "int32", "int64")


def test_integers_read_as_others_equal_litert() -> None:
    sheet = Sheet(seed=3)
    for source, dtype in product(TYPES, TYPES):
        parts = max(np.dtype(dtype).itemsize // np.dtype(source).itemsize, 1)
        shape = (2, 3, parts) if parts > 1 else (2, 3)
        data = sheet.input(full_range(sheet.rng, source, shape))
        sheet.operator("BITCAST", [data], (ANY, dtype, None))
    for dtype in ("float32", "bool"):
        data = sheet.input(sheet.rng.normal(0, 1, 4).astype(dtype))
        sheet.operator("BITCAST", [data], (ANY, dtype, None))
    sheet.check()


def test_bits_of_float32_equal_litert_s() -> None:
    sheet = Sheet(seed=5)
    reals = sheet.rng.normal(0, 1, (4, 2)).astype(np.float32)
    reals[0] = [-0.0, np.inf]
    data = sheet.input(reals)
    for dtype in (*TYPES, "float32"):
        sheet.operator("BITCAST", [data], (ANY, dtype, None))
        parts = (2,) if dtype == "int64" else (4,)
        # Numbers whose bits are also ones of float32.
        bits = reals.view(dtype).reshape(-1, *parts)
        if np.dtype(dtype).itemsize < 4:
            bits = reals.view(dtype).reshape(-1, 4 // np.dtype(dtype).itemsize)
        sheet.operator("BITCAST", [sheet.input(bits)], (ANY, "float32", None))
    sheet.check()


def test_bytes_are_signed_by_a_bitcast() -> None:
    sheet = Sheet(seed=4)
    data = sheet.random_input((1, 9), "uint8", Quantization.per_tensor(0.1, 7))
    quantization = Quantization.per_tensor(0.1, -121)
    sheet.operator("BITCAST", [data], (ANY, "int8", quantization))
    sheet.check()


@pytest.mark.parametrize(
    ("source", "dtype", "message"),
    [
        ("float32", "bool", "from float32 to bool"),
        ("float32", "int64", r"has shape \(3,\), needs 2 at its end"),
        ("int8", "int32", r"has shape \(3,\), needs 4 at its end"),
    ],
)
def test_what_is_refused(source: str, dtype: str, message: str) -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(3, source))
    sheet.operator("BITCAST", [data], (ANY, dtype, None))
    with pytest.raises(QnnError, match=message):
        from_tflite(sheet.model())
