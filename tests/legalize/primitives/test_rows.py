"""Rows averaged, scattered and hashed, and indices counted and found, as loops."""

import numpy as np
import pytest

from legalize import LegalizeQnn
from qnn_ops import average_rows, counted_indices, hash_signs, scatter_rows, top_indices
from qnn_ops.errors import QnnError
from qnn_ops.unquantized.indices import COUNTED_DTYPES
from qnn_ops.unquantized.rows import DTYPES, REDUCTIONS
from tests.support.arrays import full_range
from tests.support.operators import check_operator, module_of, run


@pytest.mark.parametrize("is_root", [False, True])
def test_primitives_equal_the_reference(is_root: bool) -> None:
    rng = np.random.default_rng(0)
    for number in (1, 9):
        rows = rng.normal(0, 1, (number, 5)).astype(np.float32)
        weights = rng.uniform(0.1, 2, number).astype(np.float32)
        indices = np.array([2, 2, 0, 0, 0, 2, 9, -1, 2], np.int32)[:number]
        check_operator(average_rows, [rows, weights, indices], count=4, is_root=is_root)


@pytest.mark.parametrize("dtype", DTYPES)
def test_primitives_equal_the_reference_of_scatter_rows(dtype: str) -> None:
    rng = np.random.default_rng(0)
    # int32 wraps.
    most = 2**31 if dtype == "int32" else 4
    data, rows = (rng.integers(1, most, (size, 3)).astype(dtype) for size in (5, 6))
    indices = np.array([1, 4, 1, 7, -1, 1], np.int32)
    # All of them for one dtype: the compiled code differs in no other way.
    for reduction in REDUCTIONS if dtype in ("float32", "int32") else ("update",):
        check_operator(scatter_rows, [data, indices, rows], reduction=reduction)


# With the seed: 4 to 7, 8 to 16, 17 to 32 and 33 to 64 bytes.
@pytest.mark.parametrize("size", [0, 3, 4, 12, 13, 28, 29, 60])
def test_primitives_equal_the_reference_of_hash_signs(size: int) -> None:
    rng = np.random.default_rng(size)
    items = full_range(rng, "uint8", (5, size))
    weights, seeds = (rng.normal(0, 1, count).astype(np.float32) for count in (5, 40))
    assert 0 < check_operator(hash_signs, [items, weights, seeds]).sum() < 40


PLACES = np.array([[0, -1, 4], [2, -5, 3]])


@pytest.mark.parametrize("dtype", COUNTED_DTYPES)
@pytest.mark.parametrize("size", [5, 300])
def test_primitives_equal_the_reference_of_counted_indices(dtype: str, size: int) -> None:
    is_signed = np.iinfo(dtype).min < 0 and (size < 128 or dtype != "int8")
    indices = PLACES if is_signed else np.abs(PLACES) % size
    check_operator(counted_indices, [indices.astype(dtype)], size=size, source="it", from_end=True)


@pytest.mark.parametrize(("size", "from_end", "first"), [(4, True, 4), (5, False, -1)])
def test_a_place_that_is_not_there_ends_the_run(size: int, from_end: bool, first: int) -> None:
    mod = module_of(counted_indices, [PLACES], size=size, source="it", from_end=from_end)
    with pytest.raises(QnnError, match=f"it: index {first} is beyond the {size} that there are"):
        run(LegalizeQnn()(mod), [PLACES])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "float32"])
@pytest.mark.parametrize(("rows", "size", "count"), [(1, 1, 1), (3, 40, 7), (2, 33, 33)])
def test_primitives_equal_the_reference_of_top_indices(
    dtype: str, rows: int, size: int, count: int
) -> None:
    # Few different values: most are ties.
    data = np.random.default_rng(size).integers(0, 6, (rows, size)).astype(dtype)
    check_operator(top_indices, [data], count=count)
