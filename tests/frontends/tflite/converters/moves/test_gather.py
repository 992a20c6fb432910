"""GATHER, GATHER_ND, EMBEDDING_LOOKUP and STABLEHLO_GATHER."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.tflite import from_tflite
from tests.differential.graphs import QUANTIZED
from tests.differential.single import single
from tests.support.errors import fails
from tests.support.hybrid import scales
from tests.support.steps import compiled
from tests.support.tflite import Operand, Q, Sheet, fixed, given, one, refused, x
from tvm_qnn.oracle import litert_tensors

test_places_equal_litert = compiled(
    single("EMBEDDING_LOOKUP", "GATHER", "GATHER_ND", "STABLEHLO_GATHER"),
    dtypes=(*QUANTIZED, "int32", "int64", "float32"),
    count=16,
)

test_places_must_be_there = refused(
    (r"has indices outside of \(3,\)", one("GATHER", x(2, 3), [0, 3], axis=1)),
    (
        "no common batches",
        one("GATHER", x(2, 3), given(np.zeros((3, 2)), "int32"), axis=1, batch_dims=1),
    ),
)


@pytest.mark.filterwarnings("ignore::frontends.tflite.NotQuantizedWarning")
@pytest.mark.parametrize(("shape", "places"), [((0, 4), (0, 2)), ((3, 0), (3, 0))])
def test_batches_without_indices(shape: tuple[int, ...], places: tuple[int, ...]) -> None:
    data, none = x(*shape, dtype="float32"), given(np.zeros(places), "int32")
    one("GATHER", data, none, axis=1, batch_dims=1).check()


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


ROWS: dict[str, Any] = {
    "offset_dims": [1],
    "collapsed_slice_dims": [0],
    "start_index_map": [0],
    "index_vector_dim": 1,
    "slice_sizes": [1, 5],
}


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
