"""GATHER, GATHER_ND and EMBEDDING_LOOKUP."""

from __future__ import annotations

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.hybrid import scales
from tests.support.tflite import Sheet
from tvm_qnn.oracle import litert_tensors

Q = Quantization.per_tensor(0.5, 3)
ANY = (1,)  # a declared shape: LiteRT works shapes out by itself


def test_places_equal_litert() -> None:
    sheet = Sheet(seed=2)
    data = sheet.random_input((2, 3, 4), "int8", Q)
    result = (ANY, "int8", Q)
    places = sheet.input(np.array([[1, 0], [1, 1]], np.int32))
    sheet.operator("GATHER", [data, places], result, axis=1)
    sheet.operator("GATHER", [data, places], result, axis=-1, batch_dims=1)
    sheet.operator("GATHER", [data, sheet.constant(2)], result, axis=2)
    sheet.operator("GATHER", [data, sheet.input(np.array([2, 0], np.int64))], result, axis=1)
    sheet.operator("GATHER_ND", [data, places], result)
    sheet.operator("GATHER_ND", [data, sheet.constant([[[1, 2, 3]], [[0, 0, 1]]])], result)
    rows = sheet.input(np.array([1, 0, 1, 1], np.int32))
    sheet.operator("EMBEDDING_LOOKUP", [rows, data], result)
    sheet.check()


def test_a_constant_place_outside_is_refused() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    sheet.operator("GATHER", [data, sheet.constant([0, 3])], (ANY, "int8", Q), axis=1)
    with pytest.raises(QnnError, match="has places outside of"):
        from_tflite(sheet.model())


@pytest.mark.parametrize("code", ["GATHER", "GATHER_ND", "EMBEDDING_LOOKUP"])
@pytest.mark.parametrize("place", [2, -1])
def test_a_place_of_the_run_that_is_not_there_ends_it(code: str, place: int) -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    given = np.array([[0], [place]] if code == "GATHER_ND" else [0, place], np.int32)
    places = sheet.input(given)
    operands = [places, data] if code == "EMBEDDING_LOOKUP" else [data, places]
    sheet.operator(code, operands, ((2, 3), "int8", Q), **({"axis": 0} if code == "GATHER" else {}))
    with pytest.raises(QnnError, match="LiteRT cannot run"):
        litert_tensors(sheet.model(), sheet.arrays)
    mod, params = from_tflite(sheet.model())
    library = qnn.build(mod, params=params, num_threads=1)
    with pytest.raises(QnnError, match=f"{code}: index {place} is beyond the 2 that there are"):
        library.run(*sheet.arrays)


def test_batches_must_be_common() -> None:
    sheet = Sheet()
    data = sheet.random_input((2, 3), "int8", Q)
    places = sheet.input(np.zeros((3, 2), np.int32))
    sheet.operator("GATHER", [data, places], (ANY, "int8", Q), axis=1, batch_dims=1)
    with pytest.raises(QnnError, match="no common batches"):
        from_tflite(sheet.model())


def test_tables_of_bytes_are_looked_up_as_real_numbers() -> None:
    sheet = Sheet(seed=71)
    rng = sheet.rng
    for dtype in ("int8", "uint8"):
        for count in (1, 5):
            table = rng.integers(-127, 128, (5, 2, 3)).astype(np.int8).view(dtype)
            places = sheet.input(rng.integers(0, 5, 7).astype(np.int32))
            operands = [places, sheet.constant(table, scales(rng, count))]
            result = ((7, 2, 3), "float32", None)
            sheet.operator("EMBEDDING_LOOKUP", operands, result, version=3)
    sheet.check()
