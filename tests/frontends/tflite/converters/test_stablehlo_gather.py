"""STABLEHLO_GATHER."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.arrays import full_range
from tests.support.tflite import Sheet

Q = Quantization.per_tensor(0.5, 3)
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
# What is larger than all, or less than none, is the nearest place.
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
    for options, places, shape in CASES:
        for kind in ("int32", "int64") if dtype == "int8" else ("int32",):
            for operand in (
                sheet.input(np.array(places, kind)),
                sheet.bias(np.array(places, kind)),
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
        ({"start_index_map": [0, 1]}, "index_vector_dim 1, for 2 numbers, of places of"),
        ({"index_vector_dim": 2}, "index_vector_dim 2, for 1 numbers, of places of"),
        ({"index_vector_dim": -1}, "index_vector_dim -1"),
        ({"offset_dims": [2]}, "offset_dims must be axes of 2, each once"),
        ({"offset_dims": []}, r"offset_dims \(\) for slices of 1 axes"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    sheet = Sheet()
    data, places = sheet.input(np.zeros((4, 5), np.int8), Q), sheet.constant([[3], [0]])
    sheet.operator("STABLEHLO_GATHER", [data, places], ((2, 5), "int8", Q), **{**ROWS, **options})
    with pytest.raises(QnnError, match=message):
        from_tflite(sheet.model())


@pytest.mark.parametrize(
    ("dtype", "kind", "message"),
    [("bool", "int32", "of bool"), ("int8", "int16", "places of int16")],
)
def test_types_that_litert_lacks(dtype: str, kind: str, message: str) -> None:
    sheet = Sheet()
    data, places = sheet.input(np.zeros((4, 5), dtype)), sheet.bias(np.zeros((2, 1), kind))
    sheet.operator("STABLEHLO_GATHER", [data, places], ((2, 5), dtype, None), **ROWS)
    with pytest.raises(QnnError, match=message):
        from_tflite(sheet.model())
