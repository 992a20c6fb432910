"""BUCKETIZE."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from qnn_ops import QnnError
from tests.support.tflite import Sheet

LIMITS = np.array([-3.5, 0.5, 10, 10, 2.0**24], np.float32)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_buckets_equal_litert_s(dtype: str) -> None:
    sheet = Sheet()
    # Integers are rounded to float32 before they are compared.
    numbers = np.array([[-4, -3, 0, 1], [10, 11, 2**24 - 1, 2**24 + 1]]).astype(dtype)
    if dtype == "float32":
        numbers[0] = [np.nan, np.inf, -np.inf, 0.5]
    data = sheet.input(numbers)
    sheet.operator("BUCKETIZE", [data], ((2, 4), "int32", None), boundaries=LIMITS)
    sheet.check()


def test_no_boundaries_and_no_numbers() -> None:
    sheet = Sheet()
    data, none = sheet.input(np.ones(3, np.float32)), sheet.input(np.ones((0, 3), np.float32))
    sheet.operator("BUCKETIZE", [data], ((3,), "int32", None), boundaries=LIMITS[:0])
    sheet.operator("BUCKETIZE", [none], ((0, 3), "int32", None), boundaries=LIMITS)
    sheet.check()


def test_boundaries_must_be_sorted() -> None:
    sheet = Sheet()
    data = sheet.input(np.ones(3, np.float32))
    sheet.operator("BUCKETIZE", [data], ((3,), "int32", None), boundaries=LIMITS[::-1])
    with pytest.raises(QnnError, match="boundaries must be sorted"):
        from_tflite(sheet.model())
