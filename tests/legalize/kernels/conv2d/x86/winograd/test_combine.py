from dataclasses import replace

import numpy as np
import pytest
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.x86.winograd.combine import Factors, both_ways
from legalize.kernels.conv2d.x86.winograd.transform import product_of, transform_of
from tests.legalize.kernels.conv2d.x86.test_kernel import SPEC

LANES = 4

ONE: Factors = (((1,),),)
MATRICES: list[tuple[Factors, Factors]] = [
    (ONE, (((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0)),)),
    ((((4, 0, -5, 0, 1), (0, -4, -4, 1, 1), (0, 2, -1, -2, 1)),), (((1, 1), (1, -1)),)),
    ((((1, 1, 4), (0, -1, 1)),), (((0, -1, 1, -8, 8, 2), (1, 1, 1, 4, 4, 0)),)),
    ((((1, 2), (1, -1)), ((1, 0, 1), (0, 4, -1))), (((4, 1), (0, 1), (1, -1)), ((1, -1), (0, 1)))),
]


def written(y: Factors, x: Factors, dtype: str, *, wraps: bool) -> tvm.tirx.PrimFunc:
    rows, columns = len(y[-1][0]), len(x[-1][0])
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("combine")
        T.func_attr({"global_symbol": "combine"})
        data = T.arg("data", T.buffer((rows, columns, LANES), dtype))
        output = T.arg("output", T.buffer((len(y[0]), len(x[0]), LANES), dtype))
        lanes = T.ramp(0, 1, LANES)
        found = both_ways(y, x, lambda i, j: data[i, j, lanes], wraps=wraps)
        for i, row in enumerate(found):
            for j, value in enumerate(row):
                T.buffer_store(output, value, [i, j, lanes])
    return builder.get()


@pytest.mark.parametrize(("y", "x"), MATRICES)
@pytest.mark.parametrize(("dtype", "bits"), [("int16", 5), ("int32", 30)])
def test_both_matrices_multiply(y: Factors, x: Factors, dtype: str, bits: int) -> None:
    """Values of 30 bits leave int32 on their way, and the results are right modulo 2^32."""
    function = written(y, x, dtype, wraps=dtype == "int32")
    run = tvm.compile(function, target="llvm").mod["combine"]
    shape = len(y[-1][0]), len(x[-1][0]), LANES
    data = np.random.default_rng(0).integers(-(1 << bits), 1 << bits, shape, np.int64)
    output = tvm.runtime.tensor(np.zeros((len(y[0]), len(x[0]), LANES), dtype))
    run(tvm.runtime.tensor(data.astype(dtype)), output)
    wanted = np.einsum("ia,jb,abl->ijl", product_of(y), product_of(x), data)
    np.testing.assert_array_equal(output.numpy(), wanted.astype(dtype))


@pytest.mark.parametrize(("part", "sums"), [("outputs", 10), ("data", 12)])
def test_what_rows_share_is_added_once(part: str, sums: int) -> None:
    """Four outputs of six values; six values of six, which take 16 sums row by row."""
    transform = transform_of(replace(SPEC, kernel_height=3, kernel_width=3), has_dots=True)
    assert transform is not None
    x = transform.x.data if part == "data" else (transform.x.outputs,)
    script = written(ONE, x, "int32", wraps=True).script()
    assert script.count("llvm.vp.add") + script.count("llvm.vp.sub") == sums
    assert "llvm.vp.mul" not in script
