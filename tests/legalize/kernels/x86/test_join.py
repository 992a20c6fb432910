from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.x86.join import Part, join
from tests.support.arrays import full_range
from tests.support.vnni import needs_vbmi, run, run_on

Array = np.ndarray[Any, Any]

VBMI = "icelake-server"

widths = st.lists(st.sampled_from([1, 2, 3, 7, 16, 31, 32, 63, 64, 65, 128, 200]), min_size=1)


def expected(arrays: list[Array], tables: list[Array | None], axis: int) -> Array:
    parts = [
        array.view(np.uint8) if table is None else table[array.view(np.uint8)]
        for array, table in zip(arrays, tables, strict=True)
    ]
    return np.concatenate(parts, axis)


@needs_vbmi
@settings(max_examples=25)
@given(widths, st.integers(0, 2), st.data())
def test_joins_tensors_as_they_are_and_through_tables(
    sizes: list[int], axis: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    arrays, tables = [], []
    for size in sizes[:4]:
        shape = [3, 2, 5]
        shape[axis] = size
        arrays.append(full_range(rng, data.draw(st.sampled_from(["int8", "uint8"])), tuple(shape)))
        has_table = data.draw(st.booleans())
        tables.append(full_range(rng, "uint8", (256,)) if has_table else None)
    parts = tuple(
        Part(array.shape, str(array.dtype), table is not None)
        for array, table in zip(arrays, tables, strict=True)
    )
    wanted = expected(arrays, tables, axis)
    given_tables = [table for table in tables if table is not None]
    function = join(parts, axis, "uint8")
    got = run_on(VBMI, function, [*arrays, *given_tables], wanted.shape, "uint8")
    np.testing.assert_array_equal(got, wanted)


@needs_vbmi
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64, 256])
def test_every_value_finds_its_entry(size: int) -> None:
    rng = np.random.default_rng(size)
    table = full_range(rng, "uint8", (256,))
    values = rng.permutation(256).astype(np.uint8).reshape(-1, size)
    function = join((Part(values.shape, "uint8", True),), 1, "int8")
    got = run_on(VBMI, function, [values, table], values.shape, "int8")
    np.testing.assert_array_equal(got, table[values].view(np.int8))


@needs_vbmi
def test_copies_need_no_table_instructions() -> None:
    rng = np.random.default_rng(0)
    arrays = [full_range(rng, "int8", (9, width)) for width in (96, 5)]
    parts = tuple(Part(array.shape, "int8", False) for array in arrays)
    got = run(join(parts, 1, "int8"), arrays, (9, 101), "int8")
    np.testing.assert_array_equal(got, np.concatenate(arrays, 1))
