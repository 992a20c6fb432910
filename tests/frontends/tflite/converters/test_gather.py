"""GATHER, GATHER_ND and EMBEDDING_LOOKUP."""

from __future__ import annotations

import numpy as np
import pytest

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from qnn_ops import QnnError
from tests.support.hybrid import scales
from tests.support.tflite import Sheet

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
