"""Rows averaged, scattered and hashed, as loops."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import average_rows, hash_signs, scatter_rows
from qnn_ops.rows import DTYPES, REDUCTIONS
from tests.support.arrays import full_range
from tests.support.operators import check_operator


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
