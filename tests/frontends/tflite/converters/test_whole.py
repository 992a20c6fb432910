"""Arithmetic of int32 and int64 that depends on the data of a run."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from qnn_ops import QnnError
from tests.support.tflite import Sheet


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_numbers_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(1)
    result = ((2, 3, 4), dtype, None)

    def numbers(shape: tuple[int, ...]) -> np.ndarray:
        return sheet.rng.integers(-999, 999, shape).astype(dtype)

    data, row = sheet.input(numbers((2, 3, 4))), sheet.input(numbers((4,)))
    for code in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"):
        sheet.operator(code, [data, row], result)
    sheet.operator("NEG", [data], result)
    if dtype == "int32":
        sheet.operator("ABS", [data], result)
    for code in ("SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        operands = [data, sheet.constant(np.array([1], np.int32))]
        sheet.operator(code, operands, ((2, 4), dtype, None), keep_dims=False)
    sheet.operator("CONCATENATION", [data, data], ((2, 6, 4), dtype, None), axis=1)
    sheet.check()


def test_what_int32_does_not_hold_wraps() -> None:
    sheet = Sheet(2)
    data = sheet.input(np.array([2**31 - 1, -(2**31), 70_000], np.int32))
    for code in ("ADD", "MUL"):
        sheet.operator(code, [data, data], ((3,), "int32", None))
    sheet.check()


def test_types_must_be_one() -> None:
    sheet = Sheet(3)
    operands = [sheet.input(np.zeros(3, each)) for each in ("int32", "int64")]
    sheet.operator("ADD", operands, ((3,), "int32", None))
    with pytest.raises(QnnError, match="ADD"):
        from_tflite(sheet.model())
