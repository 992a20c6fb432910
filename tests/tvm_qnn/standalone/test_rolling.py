import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.rows import ramp
from legalize.kernels.kernel import IS_KERNEL
from tests.support import mcu
from tests.support.programs import Case
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.standalone.rolling import rolled
from tvm_qnn.target.target import parse_target

SIZES = (1, 2, 3, 8, 9, 64, 1000)


def copy(size: int, dtype: str = "int32", step: int = 1) -> Any:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("copy")
        x, y = (T.arg(name, T.buffer((size * step,), "int8")) for name in "xy")
        with T.serial(tirx.IntImm(dtype, size)) as i:
            T.buffer_store(y, x[ramp(i * step, step)], [ramp((size - 1 - i) * step, step)])
    return builder.get()


def products(turns: int, rows: int = 5) -> Any:
    """Add up products: the innermost loop."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("products")
        x, w, y = (
            T.arg(name, T.buffer((size,), "int32"))
            for name, size in (("x", rows * turns), ("w", turns), ("y", rows))
        )
        with T.serial(rows) as row:
            total = T.alloc_buffer((1,), "int32", scope="global")
            T.buffer_store(total, row, [0])
            with T.serial(turns) as i:
                T.buffer_store(total, total[0] + x[row * turns + i] * w[i], [0])
            T.buffer_store(y, total[0], [row])
    return builder.get()


def assembly(function: Any, core: str) -> str:
    compiled = compile_functions({"f": function}, {"f": "f"}, parse_target(core))
    # TVM's other name of the function has its code once more.
    return str(compiled.module.inspect_source("asm")).split("__tvm_ffi_main")[0]


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"])
def test_loops_stay_loops(core: str) -> None:
    for size in (4, 16, 1000):
        assert assembly(copy(size), core).count("\tstrb") == 1
        # There is a first iteration.
        assert len(re.findall(r"\tb\w\w", assembly(copy(size), core))) == 1


@pytest.mark.parametrize(("turns", "multiplied"), [(3, 3), (8, 8), (9, 1), (64, 1)])
def test_short_loops_of_products_are_written_out(turns: int, multiplied: int) -> None:
    text = assembly(products(turns), "cortex-m4")
    assert text.count("\tmla") + text.count("\tmul") == multiplied


def test_loops_over_wide_indices_stay_loops() -> None:
    for size, is_rolled in ((16, True), (2**31 - 1, True), (2**31, False)):
        body = str(rolled(copy(size, "int64"), has_loops=False).body)
        assert ('T.Cast("int64", T.call_extern("int32", "tvm_qnn_extent"' in body) == is_rolled


def test_a_core_with_loops_of_its_own_has_them() -> None:
    assert "\tle\t" in assembly(copy(1000), "cortex-m55")
    # A kernel's loops over vectors are such ones, and those over numbers are not made vectors.
    vectors = assembly(copy(4, step=16).with_attr(IS_KERNEL, True), "cortex-m55")
    assert "\tle\t" in vectors
    assert vectors.count("\tvldr") == 1
    numbers = assembly(copy(1000).with_attr(IS_KERNEL, True), "cortex-m55")
    assert numbers.count("\tldrb") == 1
    assert "\tvldr" not in numbers


@mcu.emulated
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m7", "cortex-m33"])
def test_loops_compute_the_same(core: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cases, expected = [], []
    for size in SIZES:
        x = rng.integers(-128, 128, size, np.int8)
        cases.append(Case(copy(size), [x], (size,), "int8"))
        expected.append(x[::-1])
        rows = rng.integers(-1000, 1000, (5, size), np.int32)
        w = rng.integers(-1000, 1000, size, np.int32)
        cases.append(Case(products(size), [rows.reshape(-1), w], (5,), "int32"))
        expected.append(rows @ w + np.arange(5, dtype=np.int32))
    for result, want in zip(mcu.run_cases(core, cases, tmp_path), expected, strict=True):
        np.testing.assert_array_equal(result, want)
