"""Functions over the same rows become one."""

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.script import tirx as T

from legalize.passes import join_rows as its_module
from legalize.passes.join_rows import JoinRows
from tests.support.functions import loops
from tests.support.modules import emit, module
from tests.support.operators import run


@T.prim_func(private=True, s_tir=True)
def largest(x: T.Buffer((5, 16), "float32"), m: T.Buffer((5,), "float32")) -> None:
    for i, k in T.grid(5, 16):
        with T.sblock("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                m[vi] = T.float32(-1)
            m[vi] = T.max(m[vi], x[vi, vk])


distances, from_the_next_row = (
    loops((5, 16), value, (5, 16), (5,))
    for value in (lambda x, m, i, j: x[i, j] - m[i], lambda x, m, i, j: x[i, j] - m[(i + 1) % 5])
)


@T.prim_func(s_tir=True)
def joined(
    tensor_0: T.Buffer((T.int64(5), T.int64(16)), "float32"),
    tensor_1: T.Buffer((T.int64(5), T.int64(16)), "float32"),
) -> None:
    T.func_attr({"tirx.noalias": True})
    with T.sblock("root"):
        T.reads()
        T.writes()
        x = T.decl_buffer((80,), data=tensor_0.data)
        y = T.decl_buffer((80,), data=tensor_1.data)
        m = T.alloc_buffer((3,))
        for block in range(T.int64(2)):
            first: T.let[T.int64] = T.min(block * T.int64(3), T.int64(2))
            for row in range(T.int64(3)):
                for k in range(16):
                    if k == 0:
                        m[row] = T.float32(-1)
                    m[row] = T.max(m[row], x[(first + row) * T.int64(16) + k])
            for row in range(T.int64(3)):
                for j in range(16):
                    y[(first + row) * T.int64(16) + j] = x[(first + row) * T.int64(16) + j] - m[row]


ROW, WHOLE = (relax.TensorType(shape, "float32") for shape in ((5,), (5, 16)))


def calls(reader: Any = distances, *, is_read_elsewhere: bool = False) -> tvm.IRModule:
    """Return a module of two calls, the second one of ``reader``."""

    def body(x: relax.Expr) -> Any:
        first, second = add_functions(reader)
        m = emit(relax.call_tir(first, [x], ROW))
        y = emit(relax.call_tir(second, [x, m], WHOLE))
        return [y, m] if is_read_elsewhere else y

    return module({"x": WHOLE}, body)


def add_functions(reader: Any = distances) -> list[Any]:
    builder = relax.BlockBuilder.current()
    return [builder.add_func(each, "f") for each in (largest, reader)]


def functions(mod: tvm.IRModule) -> list[Any]:
    return [each for each in mod.functions.values() if isinstance(each, tirx.PrimFunc)]


def test_a_row_is_finished_before_others_begin() -> None:
    (function,) = functions(JoinRows()(calls()))
    simplified = (
        tirx.transform.StmtSimplify()(tvm.IRModule({"f": tirx.PrimFunc(each.params, each.body)}))
        for each in (function, joined)
    )
    ours, theirs = (each["f"] for each in simplified)
    tvm.ir.assert_structural_equal(ours, theirs)


def test_results_are_the_same() -> None:
    data = np.random.default_rng(1).normal(0, 1, (5, 16)).astype(np.float32)
    with_rows, without = (run(mod, [data]) for mod in (JoinRows()(calls()), calls()))
    np.testing.assert_array_equal(with_rows, without)
    np.testing.assert_array_equal(without, data - np.maximum(data.max(1, keepdims=True), -1))


def test_rows_that_fill_a_cache_are_computed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(its_module, "_NEAR", 100)
    (function,) = functions(JoinRows()(calls()))
    assert "for block in range(T.int64(5))" in function.script()


@pytest.mark.parametrize(
    "mod",
    [
        calls(from_the_next_row),
        calls(is_read_elsewhere=True),
        calls(distances.with_attr("qnn.is_kernel", True)),
    ],
    ids=["another row", "a result that something else reads", "a kernel"],
)
def test_other_functions_are_left(mod: tvm.IRModule) -> None:
    tvm.ir.assert_structural_equal(JoinRows()(mod), mod)


@pytest.mark.parametrize(("name", "value"), [("_SHORTEST", 17), ("_FAR", 60)])
def test_short_rows_and_large_ones_are_left(
    name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(its_module, name, value)
    tvm.ir.assert_structural_equal(JoinRows()(calls()), calls())


def test_a_run_is_cut_where_something_else_reads_a_result() -> None:
    """Later calls and the output read the second of four results: two and two are joined."""

    def body(x: relax.Expr) -> list[relax.Expr]:
        first, second = add_functions()
        m = emit(relax.call_tir(first, [x], ROW))
        y = emit(relax.call_tir(second, [x, m], WHOLE))
        again = emit(relax.call_tir(first, [y], ROW))
        return [emit(relax.call_tir(second, [y, again], WHOLE)), y]

    mod = JoinRows()(module({"x": WHOLE}, body))
    assert [len(each.params) for each in functions(mod)] == [2]  # twice the same
