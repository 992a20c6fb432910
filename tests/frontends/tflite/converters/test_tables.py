"""EMBEDDING_LOOKUP_SPARSE and LSH_PROJECTION: rows that are weighted and summed up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite.schema import ENUM_FIELDS
from qnn_ops.errors import QnnError
from tests.support.tflite import Sheet

ANY = (1,)  # a declared shape: LiteRT works shapes out by itself
# If rows of one index are not consecutive, LiteRT divides more than once.
PLACES = [
    ([[0, 0], [0, 1], [2, 0], [2, 5], [3, 1]], [4, 2]),
    ([[1, 0], [1, 1], [0, 0], [1, 5], [1, 1]], [3, 9]),
    ([[0, 1, 0], [1, 0, 0], [1, 0, 3], [1, 2, 0], [0, 1, 1]], [2, 3, 1]),
    ([[4], [0], [2], [1], [7]], [1]),
]


@pytest.mark.parametrize("combiner", ENUM_FIELDS["combiner"])
def test_rows_equal_litert_s(combiner: str) -> None:
    sheet = Sheet(seed=1)
    table = sheet.bias(sheet.rng.normal(0, 1, (6, 2, 4)).astype(np.float32))
    weights = sheet.input(np.array([0.3, -1.7, 0.6, 0, 2.1], np.float32))
    rows = np.array([3, 5, 0, 3, 1], np.int32)
    for indices, sizes in PLACES:
        for add in (sheet.input, sheet.bias):
            operands = [add(rows), add(np.array(indices, np.int32)), sheet.constant(sizes)]
            result = ((*sizes[:-1], 2, 4), "float32", None)
            more = [weights, table]
            sheet.operator("EMBEDDING_LOOKUP_SPARSE", operands + more, result, combiner=combiner)
    sheet.check()


def operands(**given: Any) -> list[np.ndarray[Any, Any]]:
    """Return operands that fit, except for those that are given."""
    all_of = {
        "rows": np.array([1, 3], np.int32),
        "indices": np.array([[0, 0], [1, 0]], np.int32),
        "sizes": np.array([2, 1], np.int32),
        "weights": np.ones(2, np.float32),
        "table": np.ones((4, 5), np.float32),
    }
    return list({**all_of, **given}.values())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": np.array([1, 4], np.int32)}, "has indices outside of"),
        ({"rows": np.array([1, -1], np.int32)}, "has indices outside of"),
        ({"rows": np.array([1, 2, 3], np.int32)}, "rows"),
        ({"indices": np.array([[0, 0], [2, 0]], np.int32)}, "has indices outside of"),
        ({"indices": np.array([0, 1], np.int32)}, r"at indices \(2,\)"),
        ({"sizes": np.array([2], np.int32)}, r"in \(2,\)"),
        ({"sizes": np.array([-2, 1], np.int32)}, "sizes must not be negative"),
        ({"weights": np.ones(3, np.float32)}, r"with weights \(3,\)"),
        ({"table": np.ones(4, np.float32)}, r"of a table of shape \(4,\)"),
        ({"table": np.ones((4, 5), np.int8)}, "of int32, int32, int32, float32, int8"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    sheet = Sheet()
    indices = [sheet.bias(each) for each in operands(**given)]
    sheet.operator("EMBEDDING_LOOKUP_SPARSE", indices, (ANY, "float32", None), combiner="SUM")
    sheet.check_refused(message)


def test_operands_are_missing() -> None:
    sheet = Sheet()
    indices = [sheet.bias(each) for each in operands()]
    sheet.operator("EMBEDDING_LOOKUP_SPARSE", indices[:3], (ANY, "float32", None))
    sheet.check_refused("of int32, int32, int32")


def test_no_such_combiner() -> None:
    sheet = Sheet()
    indices = [sheet.bias(each) for each in operands()]
    sheet.operator("EMBEDDING_LOOKUP_SPARSE", indices, (ANY, "float32", None), combiner="SQRTN")
    sheet._writer._operators[0].options["combiner"] = 77
    sheet.check_refused("Combiner is 77, not one of SUM, MEAN, SQRTN", ModelFormatError)


@pytest.mark.parametrize("index", [99, -99])
def test_rows_of_a_run_stay_in_memory(index: int) -> None:
    sheet = Sheet()
    sizes, weights, table = operands()[2:]
    wild = np.array([[2**31 - 1, 0], [-(2**31), 0]], np.int32)
    indices = [sheet.input(np.array([0, index], np.int32)), sheet.input(wild), sheet.bias(sizes)]
    indices += [sheet.bias(weights), sheet.bias(table)]
    sheet.operator("EMBEDDING_LOOKUP_SPARSE", indices, ((2, 5), "float32", None), combiner="MEAN")
    with pytest.raises(QnnError, match=f"EMBEDDING_LOOKUP_SPARSE: index {index} is"):
        sheet.run()


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
def test_what_is_refused_of_lsh_projection(
    functions: Array, items: Array, weights: Array | None, kind: str, message: str
) -> None:
    sheet = Sheet()
    operands = [sheet.bias(functions.astype(np.float32)), sheet.input(items.astype(np.float32))]
    if weights is not None:
        is_whole = weights.dtype.kind == "i"
        operands.append(sheet.bias(weights if is_whole else weights.astype(np.float32)))
    result = ((6,), "int32", None)
    sheet.operator("LSH_PROJECTION", operands, result, type=kind, version=1)
    sheet.check_refused(message)
