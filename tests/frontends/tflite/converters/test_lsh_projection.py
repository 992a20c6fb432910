"""LSH_PROJECTION."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Array = np.ndarray[Any, Any]
DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")


def _numbers(sheet: Sheet, dtype: str, shape: tuple[int, ...]) -> Array:
    return sheet.rng.integers(-99, 99, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_items_of_any_type_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=1)
    functions = sheet.bias(sheet.rng.normal(0, 1, (3, 7)).astype(np.float32))
    for shape in ((9,), (4, 3), (2, 3, 2)):
        items = sheet.input(_numbers(sheet, dtype, shape))
        weights = sheet.input(sheet.rng.normal(0, 1, shape[0]).astype(np.float32))
        for operands in ([functions, items], [functions, items, weights]):
            for kind, count in (("SPARSE", 3), ("DENSE", 21)):
                result = ((count,), "int32", None)
                sheet.operator("LSH_PROJECTION", operands, result, type=kind, version=1)
    sheet.check()


@pytest.mark.parametrize("size", [*range(1, 30, 4), 12, 28, 43, 60])
def test_items_of_any_size_equal_litert_s(size: int) -> None:
    sheet = Sheet(seed=2)
    functions = sheet.bias(sheet.rng.normal(0, 1, (2, 20)).astype(np.float32))
    items = sheet.input(_numbers(sheet, "uint8", (3, size)))
    result = ((40,), "int32", None)
    sheet.operator("LSH_PROJECTION", [functions, items], result, type="DENSE", version=1)
    sheet.check()


@pytest.mark.parametrize(("count", "bits"), [(1, 32), (2, 31), (1, 1), (4, 30)])
def test_all_bits_of_a_number(count: int, bits: int) -> None:
    sheet = Sheet(seed=3)
    functions = sheet.input(sheet.rng.normal(0, 1, (count, bits)).astype(np.float32))
    items = sheet.input(_numbers(sheet, "int32", (6,)))
    result = ((count,), "int32", None)
    sheet.operator("LSH_PROJECTION", [functions, items], result, type="SPARSE", version=1)
    sheet.check()


@pytest.mark.parametrize(
    ("functions", "items", "weights", "kind", "message"),
    [
        (np.ones((2, 3)), np.ones(4), None, "UNKNOWN", "UNKNOWN, of float32, int32"),
        (np.ones(3), np.ones(4), None, "DENSE", r"has shape \(3,\)"),
        (np.ones((2, 33)), np.ones(4), None, "DENSE", r"has shape \(2, 33\)"),
        (np.ones((2, 32)), np.ones(4), None, "SPARSE", "2 functions of 32 bits"),
        (np.ones((2, 3)), np.ones(4), np.ones(3), "DENSE", r"has shape \(3,\), needs \(4,\)"),
        (np.ones((2, 3)), np.ones(()), None, "DENSE", r"items of shape \(\)"),
        (np.ones((2, 3)), np.ones((0, 2)), None, "DENSE", r"items of shape \(0, 2\)"),
        (np.ones((2, 0)), np.ones(4), None, "SPARSE", r"functions of \(2, 0\)"),
        (np.ones((2, 3)), np.ones((1, 16)), None, "DENSE", "at most 60 bytes, got 64"),
        (np.ones((2, 3)), np.ones(4), np.ones(4, np.int32), "DENSE", "float32, int32, int32"),
    ],
)
def test_what_is_refused(
    functions: Array, items: Array, weights: Array | None, kind: str, message: str
) -> None:
    sheet = Sheet()
    operands = [sheet.bias(functions.astype(np.float32)), sheet.input(items.astype(np.float32))]
    if weights is not None:
        is_whole = weights.dtype.kind == "i"
        operands.append(sheet.bias(weights if is_whole else weights.astype(np.float32)))
    result = ((6,), "int32", None)
    sheet.operator("LSH_PROJECTION", operands, result, type=kind, version=1)
    with pytest.raises(QnnError, match=message):
        from_tflite(sheet.model())
