"""Functions of quantized operands, as tables of their results, and POW."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet, random_quantization

# What LiteRT demands of the output.
_FIXED = {
    "LOGISTIC": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0)},
    "TANH": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)},
}


def add_function(sheet: Sheet, code: str, dtype: str, **options: Any) -> None:
    every = np.arange(256).astype(dtype)
    data = sheet.input(every, random_quantization(sheet.rng, dtype))
    fixed = _FIXED.get(code, {}).get(dtype)
    result = Quantization.per_tensor(*fixed) if fixed else random_quantization(sheet.rng, dtype)
    sheet.operator(code, [data], ((256,), dtype, result), **options)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_tables_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=18)
    for index in range(20):
        add_function(sheet, "LOGISTIC", dtype)
        add_function(sheet, "TANH", dtype)
        add_function(sheet, "HARD_SWISH", dtype)
        if dtype == "int8":  # LiteRT has no uint8 EXP
            add_function(sheet, "EXP", dtype)
        add_function(sheet, "LEAKY_RELU", dtype, alpha=[0.1, 0.3, 2.0, -0.5][index % 4])
    sheet.check_reference()


def test_compiled_tables_equal_litert() -> None:
    sheet = Sheet(seed=19)
    add_function(sheet, "LOGISTIC", "int8")
    add_function(sheet, "HARD_SWISH", "uint8")
    sheet.check()


def test_the_table_is_a_parameter_named_after_the_result() -> None:
    sheet = Sheet()
    add_function(sheet, "LOGISTIC", "int8")
    mod, params = from_tflite(sheet.model())
    assert list(params) == ["y2_table"]
    assert params["y2_table"].numpy().shape == (256,)
    assert "R.qnn.quantized_lookup(x1, y2_table)" in mod.script()


Array = np.ndarray[Any, Any]

INTEGERS = np.array([2, 3, -2, -3, 0, 1, -1, 46341, -46341, 1290, 2**31 - 1, -(2**31)], np.int32)
REALS = [2, -3, np.nan, np.inf, -np.inf, 0, -0.0, 1e30, -1e30, 1e-30, 1.1, -0.7, 1.0000001]


def test_integers_equal_litert_s() -> None:
    sheet = Sheet(seed=1)
    data = sheet.input(INTEGERS)
    for exponents in (2, 31, [[0], [1], [5], [30], [32], [2**31 - 1]]):
        # One for each number: what int32 does not hold is its lowest number.
        each = np.broadcast_to(np.array(exponents, np.int32), (*np.shape(exponents)[:1], 12))
        for operand in (sheet.input(each), sheet.constant(each)):
            sheet.operator("POW", [data, operand], (each.shape, "int32", None))
    for exponent in (0, 1, 2, 3, 7, 20, 31, 1000, 2**31 - 1):
        # One for all: they wrap.
        one = np.array([[exponent]], np.int32)
        for operand in (sheet.input(one), sheet.constant(one)):
            sheet.operator("POW", [data, operand], ((1, 12), "int32", None))
    three = sheet.input(np.array(3, np.int32))
    sheet.operator("POW", [three, sheet.constant([2])], ((1,), "int32", None))
    sheet.operator("POW", [three, sheet.constant([1, 2, 40])], ((3,), "int32", None))
    sheet.check()


EXPONENTS = [0, 1, 2, 3, 7, 100, 2.000001, 1.999995, 2.00002, 0.999999, 1e-6, 0.5, -2, 65537, 3e9]


def test_one_natural_exponent_of_float32_is_products_as_in_litert() -> None:
    sheet = Sheet(seed=2)
    data = sheet.input(np.array(REALS, np.float32))
    results = []
    for exponent in (*EXPONENTS, np.nan, np.inf):
        one = np.array([exponent], np.float32).reshape(1, 1)
        for operand in (sheet.input(one), sheet.constant(one)):
            results.append(sheet.operator("POW", [data, operand], ((1, 13), "float32", None)))
    each = sheet.input(np.full(13, 2, np.float32))
    sheet.operator("POW", [data, each], ((13,), "float32", None))
    sheet.check()


def test_tensors_without_elements_equal_litert_s() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((0, 3), np.int32))
    for exponents in (np.array(2, np.int32), np.zeros((0, 3), np.int32)):
        sheet.operator("POW", [data, sheet.input(exponents)], ((0, 3), "int32", None))
    sheet.check()


@pytest.mark.parametrize(
    ("dtype", "exponents", "message"),
    [
        ("int32", [2, -1, 3], "has powers below 0"),
        ("int32", [2.0, 1.0, 3.0], "of int32, with powers of float32"),
        ("int64", [2, 1, 3], "of int64, with powers of int32"),
    ],
)
def test_what_is_refused(dtype: str, exponents: list[Any], message: str) -> None:
    sheet = Sheet()
    array = np.array(exponents)
    operand = sheet.constant(array.astype(np.float32 if array.dtype.kind == "f" else np.int32))
    data = sheet.input(np.zeros(3, dtype))
    sheet.operator("POW", [data, operand], ((3,), dtype, None))
    sheet.check_refused(message)


def test_negative_exponents_of_a_run_count_as_0() -> None:
    for shape in ((3,), (1, 3)):
        sheet = Sheet()
        data = sheet.input(np.array([2, 0, -7], np.int32).reshape(shape))
        exponents = sheet.input(np.full((3,) if shape == (3,) else (), -1, np.int32))
        sheet.operator("POW", [data, exponents], (shape, "int32", None))
        np.testing.assert_array_equal(sheet.run(), np.ones(shape, np.int32))
