from __future__ import annotations

import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet, random_quantization


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_softmax_equals_litert(dtype: str) -> None:
    sheet = Sheet(seed=11)
    result = Quantization.per_tensor(1 / 256, -128 if dtype == "int8" else 0)
    for index in range(20):
        shape = [(3, 10), (2, 3, 4), (2, 2, 2, 5)][index % 3]
        quantization = random_quantization(sheet.rng, dtype, 0.1)
        data = sheet.random_input(shape, dtype, quantization)
        beta = [1.0, 0.5, 3.0][index % 3]
        sheet.operator("SOFTMAX", [data], (shape, dtype, result), beta=beta)
    sheet.check_reference()


def test_the_scale_of_a_uint8_result_is_not_read() -> None:
    sheet = Sheet(seed=14)
    for scale, point in ((1 / 255, 0), (0.3, 0), (1 / 256, 9)):
        data = sheet.random_input((3, 10), "uint8", random_quantization(sheet.rng, "uint8", 0.1))
        result = ((3, 10), "uint8", Quantization.per_tensor(scale, point))
        sheet.operator("SOFTMAX", [data], result, beta=1.0)
    sheet.check()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_int16_results_of_bytes_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=13)
    result = Quantization.per_tensor(1 / 65536, -(2**15))
    for index in range(8):
        shape = [(3, 10), (2, 3, 4), (1, 12)][index % 3]
        data = sheet.random_input(shape, dtype, random_quantization(sheet.rng, dtype, 0.1))
        sheet.operator("SOFTMAX", [data], (shape, "int16", result), beta=[1.0, 0.3][index % 2])
    sheet.check()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_compiled_softmax_equals_litert(dtype: str) -> None:
    sheet = Sheet(seed=12)
    result = Quantization.per_tensor(1 / 256, -128 if dtype == "int8" else 0)
    data = sheet.random_input((3, 10), dtype, Quantization.per_tensor(0.125, 5))
    sheet.operator("SOFTMAX", [data], ((3, 10), dtype, result), beta=1.5)
    sheet.check()
