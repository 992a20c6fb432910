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
