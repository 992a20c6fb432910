"""MIRROR_PAD and REVERSE_V2."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_mirrors_equal_litert() -> None:
    sheet = Sheet(seed=4)
    data = sheet.random_input((3, 4, 2), "int8", Q)
    result = (ANY, "int8", Q)
    for mode, widths in (
        ("REFLECT", [[2, 1], [0, 3], [1, 1]]),
        ("SYMMETRIC", [[3, 0], [4, 4], [0, 2]]),
    ):
        sheet.operator("MIRROR_PAD", [data, sheet.constant(widths)], result, mode=mode)
    sheet.operator("REVERSE_V2", [data, sheet.constant([1])], result)
    sheet.operator("REVERSE_V2", [data, sheet.constant([-1])], result)
    sheet.check()


def test_paddings_must_be_within_the_data() -> None:
    sheet = Sheet()
    data = sheet.random_input((3, 4), "int8", Q)
    widths = sheet.constant([[3, 0], [0, 0]])
    sheet.operator("MIRROR_PAD", [data, widths], (ANY, "int8", Q), mode="REFLECT")
    with pytest.raises(QnnError, match="paddings 3 and 0 do not fit axis 0"):
        from_tflite(sheet.model())


def test_there_must_be_axes_to_reverse() -> None:
    sheet = Sheet()
    data = sheet.random_input((3, 4), "int8", Q)
    sheet.operator("REVERSE_V2", [data, sheet.constant(np.zeros(0, np.int32))], (ANY, "int8", Q))
    with pytest.raises(QnnError, match="must have axes"):
        from_tflite(sheet.model())
