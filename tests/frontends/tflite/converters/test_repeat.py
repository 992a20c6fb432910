"""TILE, BROADCAST_TO and FILL."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_copies_equal_litert() -> None:
    sheet = Sheet(seed=3)
    data = sheet.random_input((2, 1, 3), "uint8", Q)
    result = (ANY, "uint8", Q)
    sheet.operator("TILE", [data, sheet.constant([1, 3, 2])], result)
    sheet.operator("TILE", [data, sheet.constant([1, 1, 1])], result)
    sheet.operator("BROADCAST_TO", [data, sheet.constant([4, 2, 5, 3])], result)
    value = sheet.input(np.array(7, np.uint8), Q)
    sheet.operator("FILL", [sheet.constant([2, 3]), value], result)
    sheet.check()


def test_shapes_must_fit() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    sheet.operator("BROADCAST_TO", [data, sheet.constant([4, 3])], (ANY, "int8", Q))
    with pytest.raises(QnnError, match="cannot broadcast"):
        from_tflite(sheet.model())


def test_the_sizes_of_a_fill_must_be_constant() -> None:
    sheet = Sheet()
    dims = sheet.input(np.array([2, 3], np.int32))
    sheet.operator("FILL", [dims, sheet.constant(1.0)], (ANY, "float32", None))
    with pytest.raises(QnnError, match="must be constant"):
        from_tflite(sheet.model())
