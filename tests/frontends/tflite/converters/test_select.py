"""SELECT and SELECT_V2."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_choices_equal_litert() -> None:
    sheet = Sheet(seed=6)
    result = (ANY, "int8", Q)
    lhs, rhs = (sheet.random_input((2, 3), "int8", Q) for _ in range(2))
    row = sheet.random_input((1, 3), "int8", Q)
    whole = sheet.input(np.array([[True, False, True], [False, False, True]]))
    first = sheet.input(np.array([False, True]))
    column = sheet.input(np.array([[True], [False]]))
    sheet.operator("SELECT", [whole, lhs, rhs], result)
    sheet.operator("SELECT", [first, lhs, rhs], result)
    sheet.operator("SELECT_V2", [column, row, rhs], result)
    scalars = [sheet.input(np.array(each, np.int8), Q) for each in (4, 5)]
    sheet.operator("SELECT_V2", [sheet.input(np.array(False)), *scalars], ((1, 1), "int8", Q))
    sheet.check()


def test_a_condition_must_be_of_bool() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    sheet.operator("SELECT", [data, data, data], (ANY, "int8", Q))
    with pytest.raises(QnnError, match="must choose by bool"):
        from_tflite(sheet.model())
