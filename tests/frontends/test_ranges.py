from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from frontends.ranges import index_of, split
from tests.support.modules import calls_of, module


@pytest.mark.parametrize("count", [2, 129])
def test_parts_are_in_order(count: int) -> None:
    sizes = [1 + number % 3 for number in range(count)]
    data = np.arange(2 * sum(sizes), dtype=np.int8).reshape(2, -1)
    mod = module({"x": data}, lambda x: split(relax.BlockBuilder.current(), x, sizes, 1))
    machine = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    actual = [part.numpy() for part in machine["main"](tvm.runtime.tensor(data))]
    for part, expected in zip(actual, np.split(data, np.cumsum(sizes)[:-1], 1), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_no_split_has_many_parts() -> None:
    """TVM's own takes minutes for 2,000, and then ends the process."""
    variable, builder = relax.Var("x", relax.TensorType((5000,), "int8")), relax.BlockBuilder()
    with builder.function("main", [variable]):
        parts = split(builder, variable, [1] * 5000, 0)
        builder.emit_func_output(builder.normalize(relax.Tuple(parts)))
    most = max(len(call.ty.fields) for call in calls_of(builder.get()))
    assert (len(parts), most) == (5000, 64)
    assert split(builder, variable, [5000], 0) == [variable]


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
