from __future__ import annotations

import numpy as np
import pytest

from qnn_ops import hash_signs
from tests.support.arrays import full_range
from tests.support.operators import check_operator


# With the seed: 4 to 7, 8 to 16, 17 to 32 and 33 to 64 bytes.
@pytest.mark.parametrize("size", [0, 3, 4, 12, 13, 28, 29, 60])
def test_primitives_equal_the_reference(size: int) -> None:
    rng = np.random.default_rng(size)
    items = full_range(rng, "uint8", (5, size))
    weights, seeds = (rng.normal(0, 1, count).astype(np.float32) for count in (5, 40))
    assert 0 < check_operator(hash_signs, [items, weights, seeds]).sum() < 40
