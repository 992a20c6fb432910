"""Functions of quantized operands, as tables of their results, and POW."""

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from tests.differential.elementwise import unary
from tests.support.steps import compiled
from tests.support.tflite import Sheet, fixed, given, one, random_quantization, refused, x

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


test_functions_equal_litert = compiled(unary, count=60)


def test_the_table_is_a_parameter_named_after_the_result() -> None:
    sheet = Sheet()
    add_function(sheet, "LOGISTIC", "int8")
    mod, params = from_tflite(sheet.model())
    assert list(params) == ["y2_table"]
    assert params["y2_table"].numpy().shape == (256,)
    assert "R.qnn.quantized_lookup(x1, y2_table)" in mod.script()


INTEGERS = np.array([2, 3, -2, -3, 0, 1, -1, 46341, -46341, 1290, 2**31 - 1, -(2**31)], np.int32)
REALS = [2, -3, np.nan, np.inf, -np.inf, 0, -0.0, 1e30, -1e30, 1e-30, 1.1, -0.7, 1.0000001]


def test_integers_equal_litert_s() -> None:
    sheet, data = Sheet(seed=1), given(INTEGERS, "int32")
    for exponents in (2, 31, [[0], [1], [5], [30], [32], [2**31 - 1]]):
        # One for each number: what int32 does not hold is its lowest number.
        each = np.broadcast_to(np.array(exponents), (*np.shape(exponents)[:1], 12))
        for make in (given, fixed):
            sheet.add("POW", data, make(each, "int32"))
    for exponent in (0, 1, 2, 3, 7, 20, 31, 1000, 2**31 - 1):
        # One for all: they wrap.
        for make in (given, fixed):
            sheet.add("POW", data, make([[exponent]], "int32"))
    three = given(3, "int32")
    sheet.add("POW", three, [2])
    sheet.add("POW", three, [1, 2, 40])
    data = x(0, 3, dtype="int32")
    sheet.add("POW", data, given(2, "int32"))
    sheet.add("POW", data, x(0, 3, dtype="int32"))
    sheet.check()


EXPONENTS = [0, 1, 2, 3, 7, 100, 2.000001, 1.999995, 2.00002, 0.999999, 1e-6, 0.5, -2, 65537, 3e9]


def test_one_natural_exponent_of_float32_is_products_as_in_litert() -> None:
    sheet, data = Sheet(seed=2), given(REALS, "float32")
    for exponent in (*EXPONENTS, np.nan, np.inf):
        for make in (given, fixed):
            sheet.add("POW", data, make([[exponent]], "float32"))
    sheet.add("POW", data, given([2] * 13, "float32"))
    sheet.check()


test_what_is_refused = refused(
    ("has powers below 0", one("POW", x(3, dtype="int32"), [2, -1, 3])),
    ("from int32, float32 to int32", one("POW", x(3, dtype="int32"), fixed([2, 1, 3], "float32"))),
    ("from int64, int32 to int64", one("POW", x(3, dtype="int64"), [2, 1, 3])),
)


@pytest.mark.parametrize(("shape", "count"), [((3,), (3,)), ((1, 3), ())])
def test_negative_exponents_of_a_run_count_as_0(shape: Any, count: Any) -> None:
    data = given(np.reshape([2, 0, -7], shape), "int32")
    result = one("POW", data, given(np.full(count, -1), "int32")).run()
    np.testing.assert_array_equal(result, np.ones(shape, np.int32))
