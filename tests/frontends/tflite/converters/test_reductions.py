"""SUM of quantized tensors."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.arrays import full_range
from tests.support.tflite import Sheet, random_quantization

AXES = ([1, 2], [-1], [0], [0, 1, 2, 3], [3, -1])


def add_sum(sheet: Sheet, index: int) -> None:
    rng = sheet.rng
    data = sheet.random_input((2, 5, 3, 4), "uint8", random_quantization(rng, "uint8"))
    operands = [data, sheet.constant(AXES[index % len(AXES)])]
    result = ((1,), "uint8", random_quantization(rng, "uint8", 0.3))
    sheet.operator("SUM", operands, result, version=2, keep_dims=bool(index % 2))


def test_sums_of_uint8_equal_litert() -> None:
    sheet = Sheet(seed=90)
    for index in range(20):
        add_sum(sheet, index)
    data = sheet.input(np.zeros((0, 3), np.uint8), Quantization.per_tensor(0.5, 7))
    result = ((3,), "uint8", Quantization.per_tensor(0.5, 9))
    sheet.operator("SUM", [data, sheet.constant([0])], result, version=2)
    sheet.check()


@pytest.mark.parametrize("axes", AXES)
def test_sums_of_int8_are_those_of_the_same_uint8(axes: list[int]) -> None:
    # LiteRT 2.3.0's reference kernel reads the bytes of int8 as uint8.
    results = []
    rng = np.random.default_rng(91)
    data = full_range(rng, "uint8", (2, 5, 3, 4))
    for dtype, offset in (("uint8", 0), ("int8", -128)):
        sheet = Sheet()
        moved = (data.astype(np.int32) + offset).astype(dtype)
        index = sheet.input(moved, Quantization.per_tensor(0.1, 100 + offset))
        result = ((1,), dtype, Quantization.per_tensor(0.7, 50 + offset))
        sheet.operator("SUM", [index, sheet.constant(axes)], result, version=2)
        results.append(sheet.run().astype(np.int32) - offset)
    np.testing.assert_array_equal(results[0], results[1])
