"""Comparisons, LOGICAL_AND, LOGICAL_OR and LOGICAL_NOT."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from frontends.tflite import WrongInLiteRTWarning, from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
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
    with pytest.raises(QnnError, match=r"no tensors of the scale 1\.0"):
        from_tflite(sheet.model())


@pytest.mark.parametrize(("code", "dtype"), [("NOT_EQUAL", "int16"), ("LESS", "bool")])
def test_what_litert_does_not_compare_is_refused(code: str, dtype: str) -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros(2, dtype))
    sheet.operator(code, [data, data], (ANY, "bool", None))
    with pytest.raises(QnnError, match=f"of {dtype}"):
        from_tflite(sheet.model())
