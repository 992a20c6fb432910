"""SELECT and SELECT_V2."""

from __future__ import annotations

from typing import Any

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


@pytest.mark.parametrize("code", ["SELECT", "SELECT_V2"])
@pytest.mark.parametrize(
    ("condition", "chosen", "other", "result"),
    [
        ((1,), (1, 1), (1,), (1,)),
        ((1, 1), (1,), (1,), (1, 1, 1)),
        ((), (1, 1), (1, 1), (1,)),
        ((1, 1), (1, 1), (1, 1), (2,)),
    ],
)
def test_single_elements_have_the_shape_of_the_file(
    code: str, condition: tuple[int, ...], chosen: Any, other: Any, result: Any
) -> None:
    sheet, encoding = Sheet(), Quantization.per_tensor(0.1, 3)
    flag = sheet.input(np.ones(condition, bool))
    choices = [sheet.random_input(shape, "int8", encoding) for shape in (chosen, other)]
    sheet.operator(code, [flag, *choices], (result, "int8", encoding))
    sheet.check()
