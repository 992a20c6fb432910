"""MAXIMUM, MINIMUM, REDUCE_MAX and REDUCE_MIN of quantized tensors: integers as they are."""

from __future__ import annotations

import warnings

import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_extremes_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=30)
    data = sheet.random_input((2, 3, 4), dtype, Q)
    other = sheet.random_input((3, 1), dtype, Q)
    for code in ("MAXIMUM", "MINIMUM"):
        sheet.operator(code, [data, other], ((2, 3, 4), dtype, Q))
    for code in ("REDUCE_MAX", "REDUCE_MIN"):
        operands = [data, sheet.constant([0, -1])]
        sheet.operator(code, operands, ((1, 3, 1), dtype, Q), keep_dims=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sheet.check()


def test_integers_that_mean_different_numbers() -> None:
    sheet, other = Sheet(), Quantization.per_tensor(0.25, 3)
    data = sheet.random_input((2, 3), "int8", Q)
    sheet.operator("REDUCE_MAX", [data, sheet.constant([1])], ((2,), "int8", other))
    sheet.check_refused("must have the same scale and zero point")


@pytest.mark.parametrize("code", ["MAXIMUM", "MINIMUM"])
def test_the_larger_of_integers_whatever_they_mean(code: str) -> None:
    sheet, other = Sheet(seed=31), Quantization.per_tensor(0.25, -9)
    data, more = sheet.random_input((2, 3), "int8", Q), sheet.random_input((2, 3), "int8", other)
    sheet.operator(code, [data, more], ((2, 3), "int8", Quantization.per_tensor(0.125, 5)))
    sheet.check()
