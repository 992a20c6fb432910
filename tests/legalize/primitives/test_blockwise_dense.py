from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import legalize
from qnn_ops import blockwise_dense
from tests.support.block_weights import POINTS, Shape, exact_layer
from tests.support.operators import check_operator, module_of, run


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize(
    "shape", [(1, 64, 5, 4, 16), (3, 41, 7, 8, 16), (2, 200, 4, 4, 32), (2, 50, 4, 2, 16)]
)
def test_primitives_equal_the_reference(shape: Shape, points: str) -> None:
    *_, bits, size = shape
    check_operator(blockwise_dense, exact_layer(shape, points), bits=bits, block_size=size)


@pytest.mark.parametrize("points", ["none", "bytes"])
@pytest.mark.parametrize("shape", [(1, 64, 5, 4, 16), (3, 41, 7, 8, 16), (2, 50, 4, 2, 16)])
def test_integers_equal_the_reference(shape: Shape, points: str) -> None:
    *_, bits, size = shape
    how = {"bits": bits, "block_size": size, "quantizes_data": True}
    check_operator(blockwise_dense, exact_layer(shape, points), **how)


def test_sums_of_any_numbers_are_near() -> None:
    data, *others = exact_layer((3, 200, 8, 4, 32), "floats")
    rng = np.random.default_rng(7)
    how: dict[str, Any] = {"bits": 4, "block_size": 32}
    operands = [rng.normal(0, 1, data.shape).astype(np.float32), *others]
    mod = legalize.LegalizeQnn()(module_of(blockwise_dense, operands, **how))
    expected = blockwise_dense.evaluate(*operands, **how)
    # The order of sums is free.
    np.testing.assert_allclose(run(mod, operands), expected, atol=1e-4)
