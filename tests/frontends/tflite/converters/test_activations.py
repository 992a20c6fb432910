"""Activation functions: fused into other operators, and RELU and its kin by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from tests.support.tflite import Sheet, fixed, given, one, random_quantization
from tvm_qnn import build
from tvm_qnn.oracle import litert_tensors

CODES = ("RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1")


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_rectifiers_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=16)
    for index in range(40):
        data = sheet.random_input((2, 50), dtype, random_quantization(sheet.rng, dtype))
        result = ((2, 50), dtype, random_quantization(sheet.rng, dtype))
        sheet.operator(CODES[index % 4], [data], result)
    sheet.check_reference()


REALS = [-2.5, -0.5, -0.0, 0.0, 0.5, 6.5, np.nan, np.inf, -np.inf] * 3


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("code", [*CODES, "SIGN"])
def test_nan_and_zeros_keep_litert_s_signs(code: str, is_known: bool) -> None:
    numbers = (fixed if is_known else given)(REALS, "float32")
    sheet = one(code, numbers, gives="float32")
    model, arrays = sheet.model(), sheet.arrays
    expected = litert_tensors(model, arrays)[1]
    assert np.isnan(expected[6])
    mod, params = from_tflite(model)
    for kernels in (False, True):
        found = np.asarray(build(mod, "host", params, kernels=kernels).run(*arrays))
        np.testing.assert_array_equal(found, expected)
        ours, theirs = (np.signbit(each[~np.isnan(expected)]) for each in (found, expected))
        np.testing.assert_array_equal(ours, theirs)


def test_compiled_rectifiers_equal_litert() -> None:
    sheet = Sheet(seed=17)
    for code in CODES:
        for dtype in ("int8", "uint8"):
            data = sheet.random_input((2, 50), dtype, random_quantization(sheet.rng, dtype))
            sheet.operator(code, [data], ((2, 50), dtype, random_quantization(sheet.rng, dtype)))
    sheet.check()
