"""Loops of TIR functions, and which rows of tensors they use."""

from typing import Any

import pytest
import tvm
from tvm import te, tirx
from tvm.script import tirx as T

from legalize.passes.row_loops import bytes_of, common_counts, loops_of, size_of, stay_in_rows
from tests.support.functions import loops


def row_sum(x: Any, i: Any) -> Any:
    k = te.reduce_axis((0, 8))
    return te.sum(x[i, k], k)


rows = loops((2, 3, 8), lambda x, *places: x(*places) + T.float32(1), (2, 3, 8))
sums = loops((6,), row_sum, (6, 8))


@T.prim_func(private=True, s_tir=True)
def over_columns(x: T.Buffer((6, 8), "float32"), y: T.Buffer((8,), "float32")) -> None:
    for k, j in T.grid(6, 8):
        with T.sblock("sums"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                y[vj] = T.float32(0)
            y[vj] = y[vj] + x[vk, vj]


@T.prim_func(private=True, s_tir=True)
def parallel(x: T.Buffer((6, 8), "float32"), y: T.Buffer((6, 8), "float32")) -> None:
    for i in T.parallel(6):
        for j in range(8):
            with T.sblock("parallel"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj]


@T.prim_func(private=True, s_tir=True)
def with_sums_of_its_own(x: T.Buffer((6, 8), "int8"), y: T.Buffer((6,), "int8")) -> None:
    for i in range(6):
        with T.sblock("sums"):
            vi = T.axis.spatial(6, i)
            total = T.sblock_alloc_buffer((1,), "int8")
            total[0] = T.int8(0)
            for k in range(8):
                total[0] = total[0] + x[vi, k]
            y[vi] = total[0]


def read(function: Any) -> Any:
    found = loops_of(function)
    assert found is not None
    return found


def test_tensors_have_one_axis() -> None:
    found = read(rows)
    assert [size_of(each) for each in found.parameters] == [48, 48]
    assert [bytes_of(each) for each in found.parameters] == [192, 192]
    assert [nest.extents for nest in found.nests] == [(2, 3, 8)]


@pytest.mark.parametrize(
    "function",
    [
        *(parallel, with_sums_of_its_own, rows.with_attr("qnn.is_kernel", True)),
        tvm.ir.GlobalVar("f"),
    ],
    ids=["parallel", "allocates in a loop", "a kernel", "no function of TIR"],
)
def test_other_functions_are_none(function: Any) -> None:
    assert loops_of(function) is None


def test_counts_are_those_of_all_loops() -> None:
    assert common_counts([read(rows)]) == [48, 6, 2]
    assert common_counts([read(rows), read(sums)]) == [48, 6]
    assert common_counts([read(sums), read(over_columns)]) == [48, 6]


def test_a_turn_uses_a_row() -> None:
    found = read(rows)
    assert all(stay_in_rows([found], found.parameters, count) for count in (48, 6, 2))
    found = read(sums)
    assert stay_in_rows([found], found.parameters, 6)
    assert not stay_in_rows([found], found.parameters, 48)


def test_a_sum_over_rows_is_of_no_row() -> None:
    found = read(over_columns)
    data, output = found.parameters
    assert stay_in_rows([found], [data], 6)
    assert not stay_in_rows([found], [output], 6)


def test_each_reading_has_its_own_variables() -> None:
    first, second = read(rows), read(rows)
    assert isinstance(first.nests[0].body, tirx.BufferStore)
    assert not first.nests[0].loops[0].loop_var.same_as(second.nests[0].loops[0].loop_var)
