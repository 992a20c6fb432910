from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
Q16 = Quantization.per_tensor(0.5, 0)


def scalars(sheet: Sheet, shape: tuple[int, ...], dtype: str) -> tuple[int, Quantization | None]:
    encoding = {"int8": Q, "uint8": Q, "int16": Q16}.get(dtype)
    array = sheet.rng.integers(0, 2 if dtype == "bool" else 99, shape).astype(dtype)
    return sheet.input(array, encoding), encoding


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
def test_diagonals_and_gaps_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=10)
    data, encoding = scalars(sheet, (2, 3), dtype)
    sheet.operator("MATRIX_DIAG", [data], ((2, 3, 3), dtype, encoding))
    for shape in ((2, 3, 5), (2, 4, 3)):
        matrices, _ = scalars(sheet, shape, dtype)
        operands, result = [matrices, data], (shape, dtype, encoding)
        sheet.operator("MATRIX_SET_DIAG", operands, result)
    filler = sheet.bias(np.array(5, dtype), encoding)
    operands = [data, sheet.constant([2, 3]), filler]
    sheet.operator("DILATE", operands, ((3, 7), dtype, encoding))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32"])
def test_rows_of_keys_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=11)
    table, encoding = scalars(sheet, (4, 3, 2), dtype)
    keys = sheet.input(np.array([-5, 1, 2, 90], np.int32))
    wanted = sheet.input(np.array([2, 7, -5, 90, 2], np.int32))
    results = ((5, 3, 2), dtype, encoding), ((5,), "uint8", None)
    sheet.operator("HASHTABLE_LOOKUP", [wanted, keys, table], *results)
    sheet.check()


@pytest.mark.parametrize("code", ["MATRIX_DIAG", "MATRIX_SET_DIAG"])
def test_diagonals_of_bool_are_refused(code: str) -> None:
    sheet = Sheet()
    operands = [scalars(sheet, shape, "bool")[0] for shape in ((2, 3), (2,))]
    count = 2 if code == "MATRIX_SET_DIAG" else 1
    sheet.operator(code, operands[:count], ((2, 3), "bool", None))
    sheet.check_refused("LiteRT's own kernel writes beyond")


def test_tensors_without_elements_equal_litert_s() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((2, 0, 3), np.int8), Q)
    sheet.operator("MATRIX_DIAG", [data], ((2, 0, 3, 3), "int8", Q))
    data = sheet.input(np.zeros((2, 3, 0), np.int8), Q)
    operands = [data, sheet.constant([2, 1, 1]), sheet.bias(np.array(5, np.int8), Q)]
    sheet.operator("DILATE", operands, ((3, 3, 0), "int8", Q))
    table, keys = sheet.input(np.ones((2, 3), np.int8), Q), sheet.constant([1, 2])
    wanted = sheet.input(np.zeros(0, np.int32))
    results = ((0, 3), "int8", Q), ((0,), "uint8", None)
    sheet.operator("HASHTABLE_LOOKUP", [wanted, keys, table], *results)
    sheet.check()


def test_a_diagonal_must_fit() -> None:
    sheet = Sheet()
    operands = [scalars(sheet, shape, "int8")[0] for shape in ((2, 3), (3,))]
    sheet.operator("MATRIX_SET_DIAG", operands, ((2, 3), "int8", Q))
    sheet.check_refused(r"diagonals of .3,. for matrices of .2, 3.")


def test_steps_must_be_positive() -> None:
    sheet = Sheet()
    data, _ = scalars(sheet, (2, 3), "int8")
    operands = [data, sheet.constant([1, 0]), sheet.bias(np.array(5, np.int8), Q)]
    sheet.operator("DILATE", operands, ((2, 3), "int8", Q))
    sheet.check_refused(r"steps .1, 0. for a tensor")


def test_keys_must_rise() -> None:
    sheet = Sheet()
    table, encoding = scalars(sheet, (3, 2), "int8")
    operands = [sheet.constant([1]), sheet.constant([1, 5, 5]), table]
    results = ((1, 2), "int8", encoding), ((1,), "uint8", None)
    sheet.operator("HASHTABLE_LOOKUP", operands, *results)
    sheet.check_refused("must have keys that rise")
