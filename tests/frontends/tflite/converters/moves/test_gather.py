"""GATHER, GATHER_ND, EMBEDDING_LOOKUP and STABLEHLO_GATHER."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops.errors import QnnError
from tests.support.arrays import full_range
from tests.support.hybrid import scales
from tests.support.tflite import Sheet
from tvm_qnn.oracle import litert_tensors

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_places_equal_litert() -> None:
    sheet = Sheet(seed=2)
    data = sheet.random_input((2, 3, 4), "int8", Q)
    result = (ANY, "int8", Q)
    indices = sheet.input(np.array([[1, 0], [1, 1]], np.int32))
    sheet.operator("GATHER", [data, indices], result, axis=1)
    sheet.operator("GATHER", [data, indices], result, axis=-1, batch_dims=1)
    sheet.operator("GATHER", [data, sheet.constant(2)], result, axis=2)
    sheet.operator("GATHER", [data, sheet.input(np.array([2, 0], np.int64))], result, axis=1)
    sheet.operator("GATHER_ND", [data, indices], result)
    sheet.operator("GATHER_ND", [data, sheet.constant([[[1, 2, 3]], [[0, 0, 1]]])], result)
    rows = sheet.input(np.array([1, 0, 1, 1], np.int32))
    sheet.operator("EMBEDDING_LOOKUP", [rows, data], result)
    sheet.check()


def test_a_constant_place_outside_is_refused() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    sheet.operator("GATHER", [data, sheet.constant([0, 3])], (ANY, "int8", Q), axis=1)
    sheet.check_refused("has indices outside of")


@pytest.mark.parametrize("code", ["GATHER", "GATHER_ND", "EMBEDDING_LOOKUP"])
@pytest.mark.parametrize("index", [2, -1])
def test_a_place_of_the_run_that_is_not_there_ends_it(code: str, index: int) -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    given = np.array([[0], [index]] if code == "GATHER_ND" else [0, index], np.int32)
    indices = sheet.input(given)
    operands = [indices, data] if code == "EMBEDDING_LOOKUP" else [data, indices]
    sheet.operator(code, operands, ((2, 3), "int8", Q), **({"axis": 0} if code == "GATHER" else {}))
    with pytest.raises(QnnError, match="LiteRT cannot run"):
        litert_tensors(sheet.model(), sheet.arrays)
    mod, params = from_tflite(sheet.model())
    library = qnn.build(mod, params=params, num_threads=1)
    with pytest.raises(QnnError, match=f"{code}: index {index} is beyond the 2 that there are"):
        library.run(*sheet.arrays)


def test_batches_must_be_common() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    indices = sheet.input(np.zeros((3, 2), np.int32))
    sheet.operator("GATHER", [data, indices], (ANY, "int8", Q), axis=1, batch_dims=1)
    sheet.check_refused("no common batches")


def test_tables_of_bytes_are_looked_up_as_real_numbers() -> None:
    sheet = Sheet(seed=71)
    rng = sheet.rng
    for dtype in ("int8", "uint8"):
        for count in (1, 5):
            table = rng.integers(-127, 128, (5, 2, 3)).astype(np.int8).view(dtype)
            indices = sheet.input(rng.integers(0, 5, 7).astype(np.int32))
            operands = [indices, sheet.constant(table, scales(rng, count))]
            result = ((7, 2, 3), "float32", None)
            sheet.operator("EMBEDDING_LOOKUP", operands, result, version=3)
    sheet.check()


ROWS: dict[str, Any] = {
    "offset_dims": [1],
    "collapsed_slice_dims": [0],
    "start_index_map": [0],
    "index_vector_dim": 1,
    "slice_sizes": [1, 5],
}
WINDOWS: dict[str, Any] = {
    "offset_dims": [0, 2],
    "collapsed_slice_dims": [],
    "start_index_map": [1, 0],
    "index_vector_dim": 0,
    "slice_sizes": [2, 3],
}
ONES: dict[str, Any] = {
    "offset_dims": [],
    "collapsed_slice_dims": [0, 1],
    "start_index_map": [0, 1],
    "index_vector_dim": 2,
    "slice_sizes": [1, 1],
}
# What is larger than all, or less than none, is the nearest index.
CASES = [
    (ROWS, [[3], [0], [9], [-2]], (4, 5)),
    (WINDOWS, [[0, 2, 7, -1], [1, 3, 0, 5]], (2, 4, 3)),
    (ONES, [[[3, 4], [0, 0]], [[1, -3], [8, 2]]], (2, 2)),
]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32"])
def test_slices_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=1)
    encoding = Q if dtype in ("int8", "uint8") else None
    array = full_range(sheet.rng, "int16", (4, 5)) if dtype == "float32" else None
    array = full_range(sheet.rng, dtype, (4, 5)) if array is None else array.astype(dtype)
    data = sheet.input(array, encoding)
    for options, indices, shape in CASES:
        for kind in ("int32", "int64") if dtype == "int8" else ("int32",):
            for operand in (
                sheet.input(np.array(indices, kind)),
                sheet.bias(np.array(indices, kind)),
            ):
                result = (shape, dtype, encoding)
                sheet.operator("STABLEHLO_GATHER", [data, operand], result, **options)
    sheet.check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slice_sizes": [1]}, r"slice_sizes \(1,\) of a tensor of shape \(4, 5\)"),
        ({"slice_sizes": [1, 6]}, "slice_sizes"),
        ({"slice_sizes": [1, -1]}, "slice_sizes"),
        ({"collapsed_slice_dims": [2]}, "collapsed_slice_dims must be axes of 2, each once"),
        ({"collapsed_slice_dims": [0, 0]}, "collapsed_slice_dims must be axes of 2, each once"),
        ({"start_index_map": [2**40]}, "start_index_map must be axes of 2, each once"),
        ({"start_index_map": [0, 1]}, "index_vector_dim 1, for 2 numbers, of indices of"),
        ({"index_vector_dim": 2}, "index_vector_dim 2, for 1 numbers, of indices of"),
        ({"index_vector_dim": -1}, "index_vector_dim -1"),
        ({"offset_dims": [2]}, "offset_dims must be axes of 2, each once"),
        ({"offset_dims": []}, r"offset_dims \(\) for slices of 1 axes"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    sheet = Sheet()
    data, indices = sheet.input(np.zeros((4, 5), np.int8), Q), sheet.constant([[3], [0]])
    sheet.operator("STABLEHLO_GATHER", [data, indices], ((2, 5), "int8", Q), **{**ROWS, **options})
    sheet.check_refused(message)


@pytest.mark.parametrize(
    ("dtype", "kind", "message"),
    [("bool", "int32", "of bool"), ("int8", "int16", "indices of int16")],
)
def test_types_that_litert_lacks(dtype: str, kind: str, message: str) -> None:
    sheet = Sheet()
    data, indices = sheet.input(np.zeros((4, 5), dtype)), sheet.bias(np.zeros((2, 1), kind))
    sheet.operator("STABLEHLO_GATHER", [data, indices], ((2, 5), dtype, None), **ROWS)
    sheet.check_refused(message)
