"""PACK and UNPACK."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stacks_and_parts_equal_litert(axis: int) -> None:
    sheet = Sheet(seed=1)
    data, other = (sheet.random_input((2, 3), "int8", Q) for _ in range(2))
    sheet.operator("PACK", [data, other, data], (ANY, "int8", Q), axis=axis, values_count=3)
    parts = [(ANY, "int8", Q)] * (2 if axis == 0 else 3)
    sheet.operator("UNPACK", [data], *parts, axis=axis, num=len(parts))
    numbers = sheet.input(np.arange(6, dtype=np.int32).reshape(2, 3))
    sheet.operator("PACK", [numbers], (ANY, "int32", None), axis=axis, values_count=1)
    sheet.check()


def test_encodings_must_be_the_same() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    result = (ANY, "int8", Quantization.per_tensor(0.5, 4))
    sheet.operator("PACK", [data], result, axis=0, values_count=1)
    with pytest.raises(QnnError, match="must have the same scale and zero point"):
        from_tflite(sheet.model())


def test_the_count_of_parts_must_fit() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    sheet.operator("UNPACK", [data], *[(ANY, "int8", Q)] * 2, axis=1, num=2)
    with pytest.raises(QnnError, match="unpacks 2 along axis 1"):
        from_tflite(sheet.model())
