import re
from functools import partial
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.script import tirx as T

from legalize.passes.copy_rows import CopyRows
from tests.support.functions import loops
from tests.support.machine_code import assembly
from tests.support.modules import emit, module
from tvm_qnn import build

copied = partial(loops, dtype="int8")
BOTH = (6, 16)
TABLE = ((9,), "int32")
rows = copied(BOTH, lambda x, i, j: x[i, j + 16], (6, 32))
heads = loops((6, 160), lambda x, i, j: x[j // 32, i, j % 32], (5, 6, 32))
OTHERS = {
    "computed": copied(BOTH, lambda x, i, j: x[i, j] + T.int8(1), BOTH),
    "transposed": copied(BOTH, lambda x, i, j: x[j, i], (16, 6)),
    "broadcast": copied(BOTH, lambda x, i, j: x[i], (6,)),
    "truths": loops(BOTH, lambda x, i, j: x[i, j], BOTH, dtype="bool"),
    "long rows": copied((4, 65), lambda x, i, j: x[i, j], (4, 65)),
    "places along rows": copied(
        (4, 96), lambda x, table, i, j: x[i, table[j]], (4, 96), ((96,), "int32")
    ),
    "undivided": copied((9, 67), lambda x, table, i, j: x[table[i], j], (4, 67), TABLE),
}


def places(count: int) -> Any:
    """Return a function that copies the row at each place of a table ``count`` times."""
    return copied((9, 96), lambda x, table, i, j: x[table[i // count], j], (4, 96), TABLE)


@T.prim_func(private=True, s_tir=True)
def vectors(x: T.Buffer((6, 32), "int8"), y: T.Buffer((6, 16), "int8")) -> None:
    for i in range(6):
        for j in T.vectorized(16):
            with T.sblock("rows"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj + 16]


def pieces(count: int) -> Any:
    """Return the same function with vectors."""

    @T.prim_func(private=True, s_tir=True)
    def function(
        x: T.Buffer((4, 96), "int8"), table: T.Buffer((9,), "int32"), y: T.Buffer((9, 96), "int8")
    ) -> None:
        for i, j_0 in T.grid(9, 2):
            for j_1 in T.vectorized(48):
                with T.sblock("rows"):
                    vi = T.axis.spatial(9, i)
                    vj = T.axis.spatial(96, j_0 * 48 + j_1)
                    T.reads(x[table[vi // count], vj], table[vi // count])
                    y[vi, vj] = x[table[vi // count], vj]

    return function


@T.prim_func(private=True, s_tir=True)
def heads_in_pieces(x: T.Buffer((5, 6, 32), "float32"), y: T.Buffer((6, 160), "float32")) -> None:
    for i, j_0 in T.grid(6, 5):
        for j_1 in T.vectorized(32):
            with T.sblock("rows"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.spatial(160, j_0 * 32 + j_1)
                y[vi, vj] = x[vj // 32, vi, vj % 32]


def after(function: Any) -> Any:
    return CopyRows()(tvm.IRModule({"f": function.with_attr("global_symbol", "f")}))["f"]


def test_short_rows_are_copied_as_vectors() -> None:
    expected = vectors.with_attr("global_symbol", "f")
    tvm.ir.assert_structural_equal(after(rows), expected)


@pytest.mark.parametrize("count", [1, 2])
def test_long_rows_whose_places_a_table_tells_become_pieces(count: int) -> None:
    expected = pieces(count).with_attr("global_symbol", "f")
    tvm.ir.assert_structural_equal(after(places(count)), expected)


def test_rows_that_were_cut_become_pieces() -> None:
    expected = heads_in_pieces.with_attr("global_symbol", "f")
    tvm.ir.assert_structural_equal(after(heads), expected)


@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_are_left(name: str) -> None:
    function = OTHERS[name]
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


@pytest.mark.parametrize("channels", [4, 48, 64, 67, 96, 320])
def test_an_enlarged_image_has_the_nearest_pixels(channels: int) -> None:
    data = np.random.default_rng(channels).integers(-128, 128, (1, 3, 4, channels), dtype=np.int8)
    rows, columns = np.arange(6) // 2, np.array([0, 0, 1, 3, 3])

    def enlarged(x: relax.Expr) -> relax.Expr:
        tall = emit(R.take(x, relax.const(rows), 1, mode="clip"))
        return R.take(tall, relax.const(columns), 2, mode="clip")

    types = {"x": relax.TensorType(data.shape, "int8")}
    found = build(module(types, enlarged), "host").run(data)
    np.testing.assert_array_equal(found, data[:, rows][:, :, columns])
