from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.script import tirx as T

from legalize.passes import CopyRows
from tests.support.machine_code import assembly
from tests.support.modules import module
from tvm_qnn import build


@T.prim_func(private=True, s_tir=True)
def rows(x: T.Buffer((6, 32), "int8"), y: T.Buffer((6, 16), "int8")) -> None:
    for i, j in T.grid(6, 16):
        with T.sblock("rows"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj + 16]


@T.prim_func(private=True, s_tir=True)
def vectors(x: T.Buffer((6, 32), "int8"), y: T.Buffer((6, 16), "int8")) -> None:
    for i in range(6):
        for j in T.vectorized(16):
            with T.sblock("rows"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj + 16]


@T.prim_func(private=True, s_tir=True)
def computed(x: T.Buffer((6, 16), "int8"), y: T.Buffer((6, 16), "int8")) -> None:
    for i, j in T.grid(6, 16):
        with T.sblock("computed"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] + T.int8(1)


@T.prim_func(private=True, s_tir=True)
def transposed(x: T.Buffer((16, 6), "int8"), y: T.Buffer((6, 16), "int8")) -> None:
    for i, j in T.grid(6, 16):
        with T.sblock("transposed"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vj, vi]


@T.prim_func(private=True, s_tir=True)
def broadcast(x: T.Buffer((6,), "int8"), y: T.Buffer((6, 16), "int8")) -> None:
    for i, j in T.grid(6, 16):
        with T.sblock("broadcast"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi]


@T.prim_func(private=True, s_tir=True)
def truths(x: T.Buffer((6, 16), "bool"), y: T.Buffer((6, 16), "bool")) -> None:
    for i, j in T.grid(6, 16):
        with T.sblock("truths"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj]


@T.prim_func(private=True, s_tir=True)
def long_rows(x: T.Buffer((4, 65), "int8"), y: T.Buffer((4, 65), "int8")) -> None:
    for i, j in T.grid(4, 65):
        with T.sblock("rows"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj]


def after(function: Any) -> Any:
    return CopyRows()(tvm.IRModule({"f": function.with_attr("global_symbol", "f")}))["f"]


def test_short_rows_are_copied_as_vectors() -> None:
    expected = vectors.with_attr("global_symbol", "f")
    tvm.ir.assert_structural_equal(after(rows), expected)


@pytest.mark.parametrize("function", [computed, transposed, broadcast, truths, long_rows])
def test_other_loops_are_left(function: Any) -> None:
    tvm.ir.assert_structural_equal(after(function), function.with_attr("global_symbol", "f"))


def halves(x: relax.Expr) -> relax.Expr:
    parts = R.split(x, 2, axis=-1)
    return R.concat([parts[1], parts[0]], axis=0)


@pytest.mark.parametrize("width", [8, 14, 16, 24, 64])
def test_parts_of_rows_are_what_they_were(width: int) -> None:
    data = np.random.default_rng(width).integers(-128, 128, (5, 3, 2 * width), dtype=np.int8)
    types = {"x": relax.TensorType(data.shape, "int8")}
    found = build(module(types, halves), "host").run(data)
    np.testing.assert_array_equal(found, np.concatenate([data[..., width:], data[..., :width]]))


@pytest.mark.parametrize(("target", "byte"), [("x86-avx2", r"movb\s+%"), ("aarch64", r"strb\s")])
def test_no_byte_moves_by_itself(target: str, byte: str) -> None:
    types = {"x": relax.TensorType((40, 40, 64), "int8")}
    code = assembly(build(module(types, lambda x: R.split(x, 2, axis=-1)), target))
    assert not re.search(byte, code)
