from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.script import tirx as T

from legalize.passes.merge_loops import MergeLoops
from tests.support.machine_code import assembly
from tests.support.modules import module
from tvm_qnn import build


@T.prim_func(private=True, s_tir=True)
def lanes(
    x: T.Buffer((3, 32), "float32"), m: T.Buffer((1, 32), "float32"), y: T.Buffer((3, 2, 16))
) -> None:
    for i, j, k in T.grid(3, 2, 16):
        with T.sblock("lanes"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            y[vi, vj, vk] = (
                x[((vj * 16 + vk) // 32 + vi) % 3, (vj * 16 + vk) % 32] + m[0, (vj * 16 + vk) % 32]
            )


@T.prim_func(private=True, s_tir=True)
def merged_lanes(
    x: T.Buffer((3, 32), "float32"), m: T.Buffer((1, 32), "float32"), y: T.Buffer((3, 2, 16))
) -> None:
    for i, jk in T.grid(3, 32):
        with T.sblock("lanes"):
            vi = T.axis.spatial(3, i)
            vj = T.axis.spatial(2, jk // 16)
            vk = T.axis.spatial(16, jk % 16)
            y[vi, vj, vk] = (
                x[((vj * 16 + vk) // 32 + vi) % 3, (vj * 16 + vk) % 32] + m[0, (vj * 16 + vk) % 32]
            )


@T.prim_func(private=True, s_tir=True)
def one_number_for_all(
    x: T.Buffer((3, 2, 16), "float32"), m: T.Buffer((3, 1, 1)), y: T.Buffer((3, 2, 16))
) -> None:
    for i, j, k in T.grid(3, 2, 16):
        with T.sblock("one"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            y[vi, vj, vk] = x[vi, vj, vk] - m[vi, 0, 0]


@T.prim_func(private=True, s_tir=True)
def merged_one_number(
    x: T.Buffer((3, 2, 16), "float32"), m: T.Buffer((3, 1, 1)), y: T.Buffer((3, 2, 16))
) -> None:
    for i, jk in T.grid(3, 32):
        with T.sblock("one"):
            vi = T.axis.spatial(3, i)
            vj = T.axis.spatial(2, jk // 16)
            vk = T.axis.spatial(16, jk % 16)
            y[vi, vj, vk] = x[vi, vj, vk] - m[vi, 0, 0]


@T.prim_func(private=True, s_tir=True)
def transposed(x: T.Buffer((16, 4), "float32"), y: T.Buffer((4, 16), "float32")) -> None:
    for i, j in T.grid(4, 16):
        with T.sblock("transposed"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vj, vi]


@T.prim_func(private=True, s_tir=True)
def one_number_a_row(
    x: T.Buffer((4, 16), "float32"), m: T.Buffer((4, 1)), y: T.Buffer((4, 16))
) -> None:
    for i, j in T.grid(4, 16):
        with T.sblock("rows"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] - m[vi, 0]


@T.prim_func(private=True, s_tir=True)
def padded(x: T.Buffer((4, 16), "float32"), y: T.Buffer((4, 16), "float32")) -> None:
    for i, j in T.grid(4, 16):
        with T.sblock("padded"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.if_then_else(vj < 13, x[vi, vj], T.float32(0))


@T.prim_func(private=True, s_tir=True)
def long_rows(x: T.Buffer((4, 65), "float32"), y: T.Buffer((4, 65), "float32")) -> None:
    for i, j in T.grid(4, 65):
        with T.sblock("rows"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj]


@T.prim_func(private=True, s_tir=True)
def sums(x: T.Buffer((4, 2, 8), "float32"), y: T.Buffer((4, 8), "float32")) -> None:
    for i, j, k in T.grid(4, 8, 2):
        with T.sblock("sums"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                y[vi, vj] = T.float32(0)
            y[vi, vj] = y[vi, vj] + x[vi, vk, vj]


def after(function: Any) -> Any:
    mod = MergeLoops()(tvm.IRModule({"f": function.with_attr("global_symbol", "f")}))
    return mod["f"].with_attr("global_symbol", "f")


@pytest.mark.parametrize(
    ("function", "expected"),
    [(lanes, merged_lanes), (one_number_for_all, merged_one_number)],
    ids=["lanes", "one number"],
)
def test_short_loops_along_memory_are_one(function: Any, expected: Any) -> None:
    expected = expected.with_attr("global_symbol", "f")
    tvm.ir.assert_structural_equal(after(function), expected)


@pytest.mark.parametrize("function", [transposed, one_number_a_row, padded, long_rows, sums])
def test_other_loops_are_left(function: Any) -> None:
    expected = function.with_attr("global_symbol", "f")
    tvm.ir.assert_structural_equal(after(function), expected)


def test_lanes_are_neither_gathered_nor_scattered() -> None:
    types = {
        "x": relax.TensorType((8, 128, 128), "float32"),
        "m": relax.TensorType((128,), "float32"),
    }

    def scored(x: relax.Expr, m: relax.Expr) -> relax.Expr:
        eighth = R.divide(x, relax.const(np.float32(8)))
        return R.reshape(R.add(eighth, m), (8, 128, 8, 16))

    code = assembly(build(module(types, scored), "x86-avx512"))
    assert "vaddps" in code or "vfmadd" in code
    assert "gather" not in code
    assert "scatter" not in code
