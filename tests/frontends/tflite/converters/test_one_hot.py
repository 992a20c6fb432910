"""ONE_HOT."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_one_hot_equals_litert() -> None:
    sheet = Sheet(seed=10)
    places = sheet.input(np.array([[0, 2, 5], [-1, 1, 2]], np.int32))
    on, off = (sheet.constant(np.float32(each)) for each in (2.5, -1.0))
    for axis in (-1, 0, 1, 2):
        operands = [places, sheet.constant(3), on, off]
        sheet.operator("ONE_HOT", operands, (ANY, "float32", None), axis=axis)
    ends = [sheet.input(np.array(each, np.int32)) for each in (7, 9)]
    sheet.operator("ONE_HOT", [places, sheet.constant(4), *ends], (ANY, "int32", None), axis=-1)
    sheet.check()


def test_the_depth_must_be_constant() -> None:
    sheet = Sheet()
    places, depth = (sheet.input(np.array(each, np.int32)) for each in ([1, 2], 3))
    on, off = (sheet.constant(np.float32(each)) for each in (1, 0))
    sheet.operator("ONE_HOT", [places, depth, on, off], (ANY, "float32", None), axis=-1)
    with pytest.raises(QnnError, match="must be constant"):
        from_tflite(sheet.model())
