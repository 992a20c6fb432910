from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.sparsity import Level, Sparsity, densified
from frontends.tflite.writer import ModelWriter
from tests.support.sparse import by_blocks, by_rows, sparse_matrix
from tests.support.tflite import Sheet, random_quantization

Array = np.ndarray[Any, Any]


def test_rows_and_blocks_come_back() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 4, 16):
        dense = sparse_matrix(rng, (7, 32), size)
        stored = by_rows(dense) if size == 1 else by_blocks(dense, size)
        np.testing.assert_array_equal(densified(*stored, dense.shape, "w"), dense)


def test_dense_layers_of_sparse_weights_equal_litert() -> None:
    sheet, size = Sheet(seed=97), 16  # of int8, LiteRT multiplies no other blocks
    rng = sheet.rng
    data = sheet.random_input((3, 32), "int8", random_quantization(rng, "int8"))
    dense = sparse_matrix(rng, (8, 32), size)
    values, sparsity = by_blocks(dense, size)
    weights = sheet.sparse(dense.shape, values, sparsity, Quantization.per_tensor(0.02, 0))
    result = ((3, 8), "int8", random_quantization(rng, "int8", 0.3))
    sheet.operator("FULLY_CONNECTED", [data, weights], result, version=8)
    sheet.check()


def test_densify_gives_a_constant() -> None:
    dense = sparse_matrix(np.random.default_rng(1), (5, 6))
    values, sparsity = by_rows(dense)
    encoding = Quantization.per_tensor(0.5, 0)
    writer = ModelWriter()
    stored = writer.tensor("w", dense.shape, "int8", encoding, values, sparsity)
    whole = writer.tensor("d", dense.shape, "int8", encoding)
    data = writer.tensor("x", (2, 6), "int8", encoding)
    output = writer.tensor("y", (2, 5), "int8", encoding)
    writer.operator("DENSIFY", [stored], [whole], version=1)
    writer.operator("FULLY_CONNECTED", [data, whole], [output])
    _, params = from_tflite(writer.finish([data], [output]))
    (weights,) = params.values()
    np.testing.assert_array_equal(weights.numpy(), dense)


VALUES, GOOD = by_rows(np.array([[0, 3], [4, 0]], np.int8))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"order": (0, 2)}, "do not fit shape"),
        ({"order": (0, 1), "blocks": (5,)}, "blocks of axis 5 have no level"),
        ({"levels": GOOD.levels[:1]}, "do not fit shape"),
        ({"levels": (Level(9), GOOD.levels[1])}, "a dense level has 9 places"),
        ({"levels": (Level(2), Level(2))}, "stores 2 sparse values, needs 4"),
        ({"levels": (Level(2), Level(0, np.array([0, 2, 1]), np.array([0, 1])))}, "do not fit 2"),
        ({"levels": (Level(2), Level(0, np.array([0, 3, 2]), np.array([0, 1])))}, "overlap"),
        ({"levels": (Level(2), Level(0, np.array([0, 1, 2]), np.array([0, 7])))}, "outside axis 1"),
    ],
)
def test_orders_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFormatError, match=message):
        densified(VALUES, replace(GOOD, **changes), (2, 2), "w")


def test_a_few_values_are_none_of_a_huge_tensor() -> None:
    levels = (Level(1), Level(0, np.array([0, 1]), np.array([5])))
    with pytest.raises(ModelFormatError, match="stores 1 values of shape"):
        densified(np.ones(1, np.int8), Sparsity((0, 1), (), levels), (1 << 14, 1 << 14), "w")


def test_a_huge_dense_level_needs_no_memory() -> None:
    levels = (Level(1 << 25), Level(0, np.array([0, 1]), np.array([0])))
    with pytest.raises(ModelFormatError, match="a dense level has 33554432 places"):
        densified(np.ones(1, np.int8), Sparsity((0, 1), (), levels), (1 << 25, 1), "w")


def test_a_number_of_no_axes_is_stored_as_it_is() -> None:
    whole = densified(np.full(1, 7, np.int8), Sparsity((), (), ()), (), "w")
    assert (whole.shape, whole.item()) == ((), 7)
    with pytest.raises(ModelFormatError, match="stores 2 sparse values, needs 1"):
        densified(np.ones(2, np.int8), Sparsity((), (), ()), (), "w")
