from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)


def encoding(dtype: str) -> Quantization | None:
    return Q if dtype in ("int8", "uint8") else None


def numbers(sheet: Sheet, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    if dtype == "bool":
        return sheet.rng.random(shape) < 0.5
    if dtype == "float32":
        return sheet.rng.normal(0, 1, shape).astype(np.float32)
    info = np.iinfo(dtype)
    return sheet.rng.integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "bool", "float32"])
def test_scattered_parts_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=6)
    # Some places are named twice: what is put there is added up, and integers wrap.
    for places, shape in (
        (np.array([[3], [1], [3], [0]]), (5, 4)),
        (np.array([[[0, 1], [2, 2]], [[2, 2], [1, 0]]]), (3, 3, 2)),
        (np.array([[1, 1], [1, 1], [0, 2]]), (2, 3)),
    ):
        parts = (*places.shape[:-1], *shape[places.shape[-1] :])
        data = sheet.input(numbers(sheet, parts, dtype), encoding(dtype))
        places = places.astype(np.int32)
        for index in (sheet.input(places), sheet.constant(places)):
            operands = [index, data, sheet.constant(list(shape))]
            sheet.operator("SCATTER_ND", operands, (shape, dtype, encoding(dtype)))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32"])
def test_dense_tensors_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=7)
    filler = sheet.input(numbers(sheet, (), dtype), encoding(dtype))
    for places, shape in (
        (np.array([[0, 1], [2, 3], [1, 1]]), (3, 4)),
        (np.array([4, 0, 2], np.int64), (5,)),
    ):
        index = sheet.input(places.astype(np.int32) if places.ndim == 2 else places)
        values = sheet.input(numbers(sheet, (3,), dtype), encoding(dtype))
        operands = [index, sheet.constant(list(shape)), values, filler]
        sheet.operator("SPARSE_TO_DENSE", operands, (shape, dtype, encoding(dtype)))
    sheet.check()


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_segments_equal_litert(dtype: str) -> None:
    sheet = Sheet(seed=8)
    data = sheet.input(numbers(sheet, (2, 3, 4), dtype))
    # Sums and products of integers wrap.
    for code in ("MAX", "MIN", "SUM", "PROD"):
        for places, rest in (
            ([2, 0], (3, 4)),
            ([2, 2], (3, 4)),
            ([[0, 4, 0], [-1, 4, 4]], (4,)),
            (1, (2, 3, 4)),
        ):
            index = sheet.constant(np.array(places, np.int32))
            operands = [data, index, sheet.constant(np.int32(5))]
            sheet.operator(f"UNSORTED_SEGMENT_{code}", operands, ((5, *rest), dtype, None))
    sheet.check()


def test_tensors_without_elements_equal_litert_s() -> None:
    sheet = Sheet()
    places, rows = (
        sheet.constant(np.zeros((0, 1), np.int32)),
        sheet.input(np.zeros((0, 3), np.int8), Q),
    )
    sheet.operator("SCATTER_ND", [places, rows, sheet.constant([2, 3])], ((2, 3), "int8", Q))
    filler = sheet.input(np.array(9, np.int8), Q)
    operands = [sheet.constant(np.zeros((0,), np.int32)), sheet.constant([4]), rows, filler]
    operands[2] = sheet.input(np.zeros((0,), np.int8), Q)
    sheet.operator("SPARSE_TO_DENSE", operands, ((4,), "int8", Q))
    data, ids = sheet.input(np.zeros((0, 3), np.float32)), sheet.constant(np.zeros((0,), np.int32))
    for name in ("MAX", "MIN", "PROD", "SUM"):
        operands = [data, ids, sheet.constant(np.int32(2))]
        sheet.operator(f"UNSORTED_SEGMENT_{name}", operands, ((2, 3), "float32", None))
    sheet.check()


@pytest.mark.parametrize(
    ("places", "shape", "message"),
    [
        ([[5], [0]], [5, 4], "places outside of"),
        ([[-1], [0]], [5, 4], "places outside of"),
        ([[1], [0]], [5, 3], "for parts of"),
        ([[1, 1], [0, 1]], [5, 4], "for parts of"),
        ([[1], [0]], [-5, 4], "for parts of"),
    ],
)
def test_places_must_be_there(places: list[list[int]], shape: list[int], message: str) -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 4), "int8", Q)
    operands = [sheet.constant(places), data, sheet.constant(shape)]
    sheet.operator("SCATTER_ND", operands, ((5, 4), "int8", Q))
    with pytest.raises(QnnError, match=message):
        from_tflite(sheet.model())


def test_segments_must_be_there() -> None:
    sheet = Sheet()
    data = sheet.input(np.zeros((2, 4), np.int32))
    operands = [data, sheet.constant([0, 3]), sheet.constant(np.int32(3))]
    sheet.operator("UNSORTED_SEGMENT_SUM", operands, ((3, 4), "int32", None))
    with pytest.raises(QnnError, match="segments beyond 3"):
        from_tflite(sheet.model())


def test_places_of_a_run_stay_in_memory() -> None:
    sheet = Sheet()
    data = sheet.input(np.full((3, 4), 7, np.int8), Q)
    index = sheet.input(np.array([[2**31 - 1], [-(2**31)], [1]], np.int32))
    operands = [index, data, sheet.constant([3, 4])]
    sheet.operator("SCATTER_ND", operands, ((3, 4), "int8", Q))
    np.testing.assert_array_equal(sheet.run(), np.full((3, 4), 7, np.int8))


def test_sums_of_segments_in_order_equal_litert_s_default_kernel() -> None:
    sheet = Sheet(seed=16)
    for dtype in ("int32", "float32"):
        for shape in ((7, 3, 2), (7,)):
            operands = [sheet.input(numbers(sheet, shape, dtype))]
            operands.append(sheet.constant(np.array([0, 0, 1, 1, 1, 2, 3])))
            sheet.operator("SEGMENT_SUM", operands, ((4, *shape[1:]), dtype, None))
    sheet.check_default()


@pytest.mark.parametrize("places", [[1, 1], [0, 2], [0, -1], [1, 0], [[0], [0]]])
def test_segments_that_are_not_in_order(places: list[int]) -> None:
    sheet = Sheet()
    operands = [sheet.input(np.zeros((2, 3), np.int32)), sheet.constant(np.array(places))]
    sheet.operator("SEGMENT_SUM", operands, ((2, 3), "int32", None))
    with pytest.raises(QnnError, match="must count segments from 0, in order"):
        from_tflite(sheet.model())


def test_segments_of_a_run_s_data() -> None:
    sheet = Sheet()
    operands = [sheet.input(np.zeros(shape, np.int32)) for shape in ((2, 3), (2,))]
    sheet.operator("SEGMENT_SUM", operands, ((2, 3), "int32", None))
    with pytest.raises(QnnError, match="depends on the data of a run"):
        from_tflite(sheet.model())
