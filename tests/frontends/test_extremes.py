from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from frontends.extremes import index_of
from tests.support.modules import module

LOWEST, INFINITE = np.finfo(np.float32).min, np.inf
ROWS = {
    "int8": [[-128] * 3, [127] * 3, [-128, 127, 127], [5, -128, -128]],
    "uint8": [[0] * 3, [255] * 3, [0, 255, 255], [255, 0, 0]],
    "int32": [[-(2**31)] * 3, [2**31 - 1] * 3, [1, 2, 2]],
    "int64": [[-(2**63)] * 3, [2**63 - 1] * 3, [2, 1, 1]],
    "float32": [
        [-INFINITE] * 3,
        [INFINITE] * 3,
        [-INFINITE, LOWEST, -INFINITE],
        [INFINITE, -LOWEST, INFINITE],
        [LOWEST, LOWEST, -INFINITE],
    ],
}


@pytest.mark.parametrize("dtype", ROWS)
def test_the_first_of_the_best_wins_whatever_it_is(dtype: str) -> None:
    rows = np.array(ROWS[dtype], dtype)
    mod = module(
        {"x": relax.TensorType(rows.shape, dtype)},
        lambda x: [index_of(function, x, 1) for function in (R.argmax, R.argmin)],
    )
    machine: Any = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    largest, smallest = machine["main"](tvm.runtime.tensor(rows))
    np.testing.assert_array_equal(largest.numpy(), rows.argmax(1))
    np.testing.assert_array_equal(smallest.numpy(), rows.argmin(1))


def test_all_elements_and_axes_that_stay() -> None:
    rows = np.full((2, 3), 255, np.uint8)
    mod = module(
        {"x": relax.TensorType(rows.shape, "uint8")},
        lambda x: [index_of(R.argmin, x, None), index_of(R.argmin, x, 0, keepdims=True)],
    )
    machine: Any = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    of_all, of_columns = machine["main"](tvm.runtime.tensor(rows))
    assert of_all.numpy() == 0
    assert of_columns.numpy().tolist() == [[0, 0, 0]]
