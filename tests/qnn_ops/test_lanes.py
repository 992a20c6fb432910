from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

from qnn_ops.lanes import lanes_of, max_of_lanes, sum_of_lanes
from tests.support.operators import run


@pytest.mark.parametrize(
    ("count", "most", "lanes"),
    [(192, 64, (3, 64)), (96, 64, (3, 32)), (96, 16, (6, 16)), (7, 64, (7, 1))],
)
def test_rows_in_lanes(count: int, most: int, lanes: tuple[int, int]) -> None:
    assert lanes_of(count, most) == lanes


def test_sums_and_largest_elements() -> None:
    data = np.random.default_rng(1).integers(-99, 99, (3, 96)).astype(np.float32)
    for function, expected in ((sum_of_lanes, data.sum(1)), (max_of_lanes, data.max(1))):
        builder = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType(data.shape, "float32"))
        with builder.function("main", [x]):
            with builder.dataflow():
                rows = builder.emit(R.reshape(x, (3, *lanes_of(96))))
                output = builder.emit_output(function(builder, rows))
            builder.emit_func_output(output)
        np.testing.assert_array_equal(run(builder.get(), [data]).ravel(), expected)
