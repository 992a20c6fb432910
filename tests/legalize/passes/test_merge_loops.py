from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te
from tvm.relax import op as R
from tvm.script import tirx as T

from legalize.passes.merge_loops import MergeLoops
from tests.support.functions import loops
from tests.support.machine_code import assembly
from tests.support.modules import module
from tvm_qnn import build


def sums_of(x: Any, i: Any, j: Any) -> Any:
    k = te.reduce_axis((0, 2))
    return te.sum(x[i, k, j], k)


lanes = loops(
    (3, 2, 16),
    lambda x, m, i, j, k: (
        x[((j * 16 + k) // 32 + i) % 3, (j * 16 + k) % 32] + m[0, (j * 16 + k) % 32]
    ),
    *((3, 32), (1, 32)),
)
one_number_for_all = loops(
    (3, 2, 16), lambda x, m, i, j, k: x[i, j, k] - m[i, 0, 0], (3, 2, 16), (3, 1, 1)
)
FOUR = (4, 16)
OTHERS = {
    "transposed": loops(FOUR, lambda x, i, j: x[j, i], (16, 4)),
    "one number a row": loops(FOUR, lambda x, m, i, j: x[i, j] - m[i, 0], FOUR, (4, 1)),
    "padded": loops(FOUR, lambda x, i, j: T.if_then_else(j < 13, x[i, j], T.float32(0)), FOUR),
    "long rows": loops((4, 65), lambda x, i, j: x[i, j], (4, 65)),
    "sums": loops((4, 8), sums_of, (4, 2, 8)),
}


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
def merged_one_number(
    x: T.Buffer((3, 2, 16), "float32"), m: T.Buffer((3, 1, 1)), y: T.Buffer((3, 2, 16))
) -> None:
    for i, jk in T.grid(3, 32):
        with T.sblock("one"):
            vi = T.axis.spatial(3, i)
            vj = T.axis.spatial(2, jk // 16)
            vk = T.axis.spatial(16, jk % 16)
            y[vi, vj, vk] = x[vi, vj, vk] - m[vi, 0, 0]


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


@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_are_left(name: str) -> None:
    expected = OTHERS[name].with_attr("global_symbol", "f")
    tvm.ir.assert_structural_equal(after(OTHERS[name]), expected)


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
