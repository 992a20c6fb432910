"""Comparisons and choices: SELECT, BUCKETIZE, ARG_MAX, ARG_MIN and TOPK_V2."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from frontends.tflite import WrongInLiteRTWarning, from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


CODES = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_comparisons_of_quantized_values_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=8)
    for scale, other in ((0.05, 0.05), (0.3, 0.02), (0.001, 0.001)):
        point = 3 if dtype == "int8" else 131
        encodings = [Quantization.per_tensor(each, point) for each in (scale, other)]
        lhs = sheet.random_input((40, 50), dtype, encodings[0])
        rhs = sheet.random_input((1, 50), dtype, encodings[1])
        for code in CODES:
            sheet.operator(code, [lhs, rhs], (ANY, "bool", None))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "bool"])
def test_comparisons_of_numbers_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=9)
    lhs, rhs = (sheet.input(sheet.rng.integers(0, 3, (4, 9)).astype(dtype)) for _ in range(2))
    refused = {"bool": CODES[2:], "int16": ("NOT_EQUAL",)}.get(dtype, ())
    for code in CODES:
        if code not in refused:
            sheet.operator(code, [lhs, rhs], (ANY, "bool", None))
    sheet.check()


def test_no_number_is_unequal_to_all() -> None:
    sheet = Sheet()
    data = sheet.input(np.array([np.nan, np.inf, 0.0, -0.0, 1.5], np.float32))
    other = sheet.input(np.array([np.nan, np.inf, -0.0, np.nan, 1.5], np.float32))
    for code in CODES:
        sheet.operator(code, [data, other], (ANY, "bool", None))
    sheet.check()


def test_logic_equals_litert() -> None:
    sheet = Sheet()
    lhs = sheet.input(np.array([[True, True], [False, False]]))
    rhs = sheet.input(np.array([True, False]))
    sheet.operator("LOGICAL_AND", [lhs, rhs], (ANY, "bool", None))
    sheet.operator("LOGICAL_OR", [lhs, rhs], (ANY, "bool", None))
    sheet.operator("LOGICAL_NOT", [lhs], (ANY, "bool", None))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_scales_above_1_equal_litert_with_a_warning(dtype: str) -> None:
    """A quarter or half of the answers are wrong."""
    sheet = Sheet(seed=3)
    for scale, other in ((1.5, 1.5), (3.0, 0.5), (0.01, 100.0)):
        point = 0 if dtype == "int16" else np.iinfo(dtype).min + 130
        encodings = [Quantization.per_tensor(each, point) for each in (scale, other)]
        lhs = sheet.random_input((40, 50), dtype, encodings[0])
        rhs = sheet.random_input((1, 50), dtype, encodings[1])
        for code in CODES[: 1 if dtype == "int16" else None]:
            sheet.operator(code, [lhs, rhs], (ANY, "bool", None))
    with pytest.warns(WrongInLiteRTWarning, match="EQUAL: tensor 0 'x1' has the scale 1.5.* more"):
        from_tflite(sheet.model())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sheet.check()


def test_a_scale_of_one_is_refused() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Quantization.per_tensor(1.0, 0))
    sheet.operator("LESS", [data, data], (ANY, "bool", None))
    sheet.check_refused(r"no tensors of the scale 1\.0")


@pytest.mark.parametrize(("code", "dtype"), [("NOT_EQUAL", "int16"), ("LESS", "bool")])
def test_what_litert_does_not_compare_is_refused(code: str, dtype: str) -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(2, dtype))
    sheet.operator(code, [data, data], (ANY, "bool", None))
    sheet.check_refused(f"of {dtype}")


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
    sheet.check_refused("must choose by bool")


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


LIMITS = np.array([-3.5, 0.5, 10, 10, 2.0**24], np.float32)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_buckets_equal_litert_s(dtype: str) -> None:
    sheet = Sheet()
    # Integers are rounded to float32 before they are compared.
    numbers = np.array([[-4, -3, 0, 1], [10, 11, 2**24 - 1, 2**24 + 1]]).astype(dtype)
    if dtype == "float32":
        numbers[0] = [np.nan, np.inf, -np.inf, 0.5]
    data = sheet.input(numbers)
    sheet.operator("BUCKETIZE", [data], ((2, 4), "int32", None), boundaries=LIMITS)
    sheet.check()


def test_no_boundaries_and_no_numbers() -> None:
    sheet = Sheet()
    data, none = sheet.input(np.ones(3, np.float32)), sheet.input(np.ones((0, 3), np.float32))
    sheet.operator("BUCKETIZE", [data], ((3,), "int32", None), boundaries=LIMITS[:0])
    sheet.operator("BUCKETIZE", [none], ((0, 3), "int32", None), boundaries=LIMITS)
    sheet.check()


def test_boundaries_must_be_sorted() -> None:
    sheet = Sheet()
    data = sheet.input(np.ones(3, np.float32))
    sheet.operator("BUCKETIZE", [data], ((3,), "int32", None), boundaries=LIMITS[::-1])
    sheet.check_refused("boundaries must be sorted")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32"])
def test_the_largest_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=12)
    encoding = Q if dtype.endswith("int8") else None
    # Few different values: most are ties.
    data = sheet.input(sheet.rng.integers(0, 6, (3, 2, 20)).astype(dtype), encoding)
    for count in (1, 7, 20):
        results = [(ANY, dtype, encoding), (ANY, "int32", None)]
        sheet.operator("TOPK_V2", [data, sheet.constant(count)], *results)
    sheet.check()


def test_long_rows_equal_litert() -> None:
    sheet = Sheet(seed=13)
    data = sheet.random_input((1, 20_000), "uint8", Q)
    sheet.operator("TOPK_V2", [data, sheet.constant(9)], (ANY, "uint8", Q), (ANY, "int32", None))
    sheet.check()


def test_a_row_must_have_as_many() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    results = [(ANY, "int8", Q), (ANY, "int32", None)]
    sheet.operator("TOPK_V2", [data, sheet.constant(4)], *results)
    sheet.check_refused("4 elements of rows")
