"""Activation functions: fused into other operators, and RELU and its kin by themselves."""

from __future__ import annotations

import pytest

from tests.support.tflite import Sheet, random_quantization

CODES = ("RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1")


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_rectifiers_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=16)
    for index in range(40):
        data = sheet.random_input((2, 50), dtype, random_quantization(sheet.rng, dtype))
        result = ((2, 50), dtype, random_quantization(sheet.rng, dtype))
        sheet.operator(CODES[index % 4], [data], result)
    sheet.check_reference()


def test_compiled_rectifiers_equal_litert() -> None:
    sheet = Sheet(seed=17)
    for code in CODES:
        for dtype in ("int8", "uint8"):
            data = sheet.random_input((2, 50), dtype, random_quantization(sheet.rng, dtype))
            sheet.operator(code, [data], ((2, 50), dtype, random_quantization(sheet.rng, dtype)))
    sheet.check()
