"""top_indices and counted_indices as loops."""

from __future__ import annotations

import numpy as np
import pytest

from legalize import LegalizeQnn
from qnn_ops import counted_indices, top_indices
from qnn_ops.errors import QnnError
from qnn_ops.indices import COUNTED_DTYPES
from tests.support.operators import check_operator, module_of, run

PLACES = np.array([[0, -1, 4], [2, -5, 3]])


@pytest.mark.parametrize("dtype", COUNTED_DTYPES)
@pytest.mark.parametrize("size", [5, 300])
def test_primitives_equal_the_reference(dtype: str, size: int) -> None:
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
