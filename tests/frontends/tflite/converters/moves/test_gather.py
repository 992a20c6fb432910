"""GATHER, GATHER_ND, EMBEDDING_LOOKUP and STABLEHLO_GATHER."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.tflite import from_tflite
from tests.support.errors import fails
from tests.support.hybrid import scales
from tests.support.tflite import ANY, Operand, Q, Sheet, fixed, given, one, refused, x
from tvm_qnn.oracle import litert_tensors


def test_places_equal_litert() -> None:
    sheet, data = Sheet(seed=2), x(2, 3, 4)
    indices = given([[1, 0], [1, 1]], "int32")
    sheet.add("GATHER", data, indices, axis=1)
    sheet.add("GATHER", data, indices, axis=-1, batch_dims=1)
    sheet.add("GATHER", data, 2, axis=2)
    sheet.add("GATHER", data, given([2, 0], "int64"), axis=1)
    sheet.add("GATHER_ND", data, indices)
    sheet.add("GATHER_ND", data, [[[1, 2, 3]], [[0, 0, 1]]])
    rows = given([1, 0, 1, 1], "int32")
    sheet.add("EMBEDDING_LOOKUP", rows, data, gives=(ANY, "int8", Q))
    sheet.check()


test_places_must_be_there = refused(
    (r"has indices outside of \(3,\)", one("GATHER", x(2, 3), [0, 3], axis=1)),
    (
        "no common batches",
        one("GATHER", x(2, 3), given(np.zeros((3, 2)), "int32"), axis=1, batch_dims=1),
    ),
)


@pytest.mark.parametrize("code", ["GATHER", "GATHER_ND", "EMBEDDING_LOOKUP"])
@pytest.mark.parametrize("index", [2, -1])
def test_a_place_of_the_run_that_is_not_there_ends_it(code: str, index: int) -> None:
    places = given([[0], [index]] if code == "GATHER_ND" else [0, index], "int32")
    operands = [x(2, 3), places][:: -1 if code == "EMBEDDING_LOOKUP" else 1]
    sheet = one(
        code, *operands, gives=((2, 3), "int8", Q), **({"axis": 0} if code == "GATHER" else {})
    )
    fails("LiteRT cannot run", litert_tensors, sheet.model(), sheet.arrays)
    mod, params = from_tflite(sheet.model())
    library = qnn.build(mod, params=params, num_threads=1)
    fails(f"{code}: index {index} is beyond the 2 that there are", library.run, *sheet.arrays)


def test_tables_of_bytes_are_looked_up_as_real_numbers() -> None:
    sheet = Sheet(seed=71)
    rng = sheet.rng
    for dtype, count in product(("int8", "uint8"), (1, 5)):
        numbers = rng.integers(-127, 128, (5, 2, 3)).astype(np.int8).view(dtype)
        table, places = (
            fixed(numbers, dtype, scales(rng, count)),
            given(rng.integers(0, 5, 7), "int32"),
        )
        sheet.add("EMBEDDING_LOOKUP", places, table, gives="float32", version=3)
    sheet.check()


NAMES = ("offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim")
ROWS, WINDOWS, ONES = (
    dict[str, Any](zip((*NAMES, "slice_sizes"), each, strict=True))
    for each in (
        ([1], [0], [0], 1, [1, 5]),
        ([0, 2], [], [1, 0], 0, [2, 3]),
        ([], [0, 1], [0, 1], 2, [1, 1]),
    )
)
# What is larger than all, or less than none, is the nearest index.
CASES = [
    (ROWS, [[3], [0], [9], [-2]], (4, 5)),
    (WINDOWS, [[0, 2, 7, -1], [1, 3, 0, 5]], (2, 4, 3)),
    (ONES, [[[3, 4], [0, 0]], [[1, -3], [8, 2]]], (2, 2)),
]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float32"])
def test_slices_equal_litert_s(dtype: str) -> None:
    sheet, data = Sheet(seed=1), x(4, 5, dtype=dtype)
    for options, indices, shape in CASES:
        for kind in ("int32", "int64") if dtype == "int8" else ("int32",):
            for operand in (given(indices, kind), fixed(indices, kind)):
                result = (shape, *data.kind[1:])
                sheet.add("STABLEHLO_GATHER", data, operand, gives=result, **options)
    sheet.check()


def _slices(dtype: str = "int8", indices: Operand | None = None, **changed: Any) -> Sheet:
    """Return a gather of the rows 3 and 0, with a few changes."""
    places = indices or fixed([[3], [0]], "int32")
    return one("STABLEHLO_GATHER", x(4, 5, dtype=dtype), places, **{**ROWS, **changed})


test_what_is_refused = refused(
    (r"slice_sizes \(1,\) of a tensor of shape \(4, 5\)", _slices(slice_sizes=[1])),
    ("slice_sizes", _slices(slice_sizes=[1, 6])),
    ("slice_sizes", _slices(slice_sizes=[1, -1])),
    ("collapsed_slice_dims must be axes of 2, each once", _slices(collapsed_slice_dims=[2])),
    ("collapsed_slice_dims must be axes of 2, each once", _slices(collapsed_slice_dims=[0, 0])),
    ("start_index_map must be axes of 2, each once", _slices(start_index_map=[2**40])),
    ("index_vector_dim 1, for 2 numbers, of indices of", _slices(start_index_map=[0, 1])),
    ("index_vector_dim 2, for 1 numbers, of indices of", _slices(index_vector_dim=2)),
    ("index_vector_dim -1", _slices(index_vector_dim=-1)),
    ("offset_dims must be axes of 2, each once", _slices(offset_dims=[2])),
    (r"offset_dims \(\) for slices of 1 axes", _slices(offset_dims=[])),
    ("of bool", _slices("bool", fixed([[0], [0]], "int32"))),
    ("indices of int16", _slices("int8", fixed([[0], [0]], "int16"))),
)
