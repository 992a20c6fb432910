import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.image_rows import JOINS, TAKES, join_rows, take_rows
from tests.support.modules import module
from tvm_qnn import build

SHAPE = (1, 5, 3, 2)


def split(dtype: str) -> tvm.IRModule:
    """The last three rows, below them the first two."""

    def body(x: relax.Var) -> relax.Expr:
        builder = relax.BlockBuilder.current()
        return join_rows(builder, [take_rows(builder, x, 2, 3), take_rows(builder, x, 0, 2)])

    return module({"x": relax.TensorType(SHAPE, dtype)}, body)


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_rows_are_taken_and_joined(dtype: str) -> None:
    x = np.arange(30).astype(dtype).reshape(SHAPE)
    made = build(split(dtype), "llvm").run(x)
    np.testing.assert_array_equal(made, np.concatenate([x[:, 2:], x[:, :2]], axis=1))


def test_functions_tell_of_which_bytes_they_are() -> None:
    functions = [
        each for each in split("int32").functions.values() if "main" not in str(each.attrs)
    ]
    attrs = [dict(function.attrs) for function in functions]
    assert sorted(int(each[TAKES]) for each in attrs if TAKES in each) == [0, 2 * 3 * 2 * 4]
    assert sum(JOINS in each for each in attrs) == 1


def test_all_rows_are_the_image() -> None:
    def body(x: relax.Var) -> relax.Expr:
        return take_rows(relax.BlockBuilder.current(), x, 0, SHAPE[1])

    mod = module({"x": relax.TensorType(SHAPE, "int8")}, body)
    assert len(mod.functions) == 1
