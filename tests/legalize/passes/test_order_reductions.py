from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te
from tvm.relax import op as R
from tvm.script import tirx as T

from legalize.passes.order_reductions import OrderReductions
from tests.support.functions import loops
from tests.support.modules import module
from tests.support.operators import run


def sums(shape: tuple[int, ...], term: Callable[..., Any], *operands: Any) -> Any:
    """Return sums of six terms, which ``term`` gives by the indices of the result and its own."""
    axis = te.reduce_axis((0, 6))
    return loops(shape, lambda *given: te.sum(term(*given, axis), axis), *operands, dtype="int32")


column_sums = sums((1, 4), lambda x, n, c, k: x[n, k, c], (1, 6, 4))
OTHERS = {
    "rows": sums((4,), lambda x, r, k: x[r, k], (4, 6)),
    "strides": sums((4,), lambda x, c, k: x[k, c * 2], (6, 8)),
    "diagonals": sums((4,), lambda x, c, k: x[c, k, c], (4, 6, 4)),
    "total": sums((1,), lambda x, _, k: x[k], (6,)),
    "kernel": column_sums.with_attr("qnn.is_kernel", True),
}


@T.prim_func(private=True, s_tir=True)
def ordered_column_sums(x: T.Buffer((1, 6, 4), "int32"), y: T.Buffer((1, 4), "int32")) -> None:
    for n in range(1):
        for c_init in range(4):
            with T.sblock("sum_init"):
                vn, vc = T.axis.remap("SS", [n, c_init])
                y[vn, vc] = 0
        for k, c in T.grid(6, 4):
            with T.sblock("sum_update"):
                vn, vc, vk = T.axis.remap("SSR", [n, c, k])
                y[vn, vc] = y[vn, vc] + x[vn, vk, vc]


@T.prim_func(private=True, s_tir=True)
def largest(x: T.Buffer((4, 6), "int32"), y: T.Buffer((), "int32")) -> None:
    for j, k in T.grid(4, 6):
        with T.sblock("max"):
            vj, vk = T.axis.remap("RR", [j, k])
            with T.init():
                y[()] = -1
            y[()] = T.max(y[()], x[vj, vk])


@T.prim_func(private=True, s_tir=True)
def ordered_largest(x: T.Buffer((4, 6), "int32"), y: T.Buffer((), "int32")) -> None:
    with T.sblock("max_init"):
        y[()] = -1
    for j_k_fused in range(24):
        with T.sblock("max_update"):
            vj = T.axis.reduce(4, j_k_fused // 6)
            vk = T.axis.reduce(6, j_k_fused % 6)
            y[()] = T.max(y[()], x[vj, vk])


def ordered(function: Any) -> Any:
    return OrderReductions()(tvm.IRModule({"main": function}))["main"]


def test_sums_of_columns_go_row_by_row() -> None:
    tvm.ir.assert_structural_equal(ordered(column_sums), ordered_column_sums)


def test_loops_that_give_one_value_are_one() -> None:
    tvm.ir.assert_structural_equal(ordered(largest), ordered_largest)


@pytest.mark.parametrize("name", OTHERS)
def test_other_sums_are_left_alone(name: str) -> None:
    tvm.ir.assert_structural_equal(ordered(OTHERS[name]), OTHERS[name])


@pytest.mark.parametrize(
    ("shapes", "body"),
    [
        (((3, 7), (7, 5)), R.matmul),
        (((2, 7), (2, 7, 5)), R.matmul),
        (((2, 4, 3, 5),), lambda x: R.sum(x, [1, 2])),
        (((2, 6, 6, 4),), lambda x: R.nn.max_pool2d(x, [3, 3], [2, 2], layout="NHWC")),
        (
            ((1, 6, 6, 4), (3, 3, 4, 5)),
            lambda x, w: R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO"),
        ),
        (
            ((1, 6, 6, 4), (3, 3, 4, 1)),
            lambda x, w: R.nn.conv2d(x, w, groups=4, data_layout="NHWC", kernel_layout="HWOI"),
        ),
    ],
)
def test_floats_are_summed_in_the_same_order(shapes: Any, body: Any) -> None:
    inputs = {f"x{i}": relax.TensorType(shape, "float32") for i, shape in enumerate(shapes)}
    before = relax.transform.LegalizeOps()(module(inputs, body))
    after = OrderReductions()(before)
    assert after.script().count("_update") == 1
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    np.testing.assert_array_equal(run(after, arrays), run(before, arrays))
