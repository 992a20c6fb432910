from __future__ import annotations

import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet, random_quantization

AXES = ([1, 2], [-1], [2, 1], [0], [0, 1, 2, 3], [3, -1])


def add_mean(sheet: Sheet, dtype: str, index: int) -> None:
    rng = sheet.rng
    data = sheet.random_input((2, 5, 7, 3), dtype, random_quantization(rng, dtype))
    sheet.operator(
        "MEAN",
        [data, sheet.constant(AXES[index % len(AXES)])],
        ((1,), dtype, random_quantization(rng, dtype)),
        keep_dims=bool(index % 2),
    )


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_means_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=9)
    for index in range(30):
        add_mean(sheet, dtype, index)
    sheet.check_reference()


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_compiled_means_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=10)
    add_mean(sheet, dtype, 0)
    add_mean(sheet, dtype, 3)
    sheet.check()


def test_an_axis_that_does_not_fit() -> None:
    sheet = Sheet()
    quantization = Quantization.per_tensor(0.1, 0)
    data = sheet.random_input((2, 3), "int8", quantization)
    sheet.operator("MEAN", [data, sheet.constant([4])], ((2,), "int8", quantization))
    with pytest.raises(QnnError, match="axis 4 is outside a tensor of 2 dimensions"):
        from_tflite(sheet.model())


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_means_without_a_scale_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=7)
    known = Quantization.per_tensor(0.5, 3)
    for source, result in ((None, None), (None, known), (known, None)):
        numbers = sheet.rng.integers(20, 100, (2, 4, 3, 5)).astype(dtype)
        data = sheet.input(numbers, source)
        for axes, keep in (([1, 2], True), ([1, 2], False), ([0, 3], False)):
            operands = [data, sheet.constant(axes)]
            sheet.operator("MEAN", operands, ((1,), dtype, result), keep_dims=keep)
    sheet.check()
