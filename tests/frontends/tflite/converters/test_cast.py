"""CAST."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


TYPES = ("int8", "uint8", "int16", "int32", "int64", "bool", "float32")


@pytest.mark.parametrize("source", TYPES)
def test_casts_equal_litert(source: str) -> None:
    sheet = Sheet(seed=7)
    numbers = np.array([0, 1, -1, 127, -128, 300, -70000, 2**31 - 1, -(2**31)])
    data = sheet.input(numbers.astype(source))
    for dtype in TYPES:
        sheet.operator("CAST", [data], (ANY, dtype, None))
    sheet.check()


def test_floats_saturate_as_in_litert() -> None:
    sheet = Sheet()
    odd = [np.nan, np.inf, -np.inf, 1e10, -1e10, 1e30, -1e30, 127.9, -128.9, 2147483520.0, -0.9]
    data = sheet.input(np.array(odd, np.float32))
    for dtype in TYPES:
        sheet.operator("CAST", [data], (ANY, dtype, None))
    sheet.check()


def test_types_without_a_cast_are_refused() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(2, np.float16))
    sheet.operator("CAST", [data], (ANY, "float32", None))
    with pytest.raises(QnnError, match="from float16"):
        from_tflite(sheet.model())
