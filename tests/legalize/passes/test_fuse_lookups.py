from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.script import tirx as T

from legalize.passes.fuse_lookups import FuseLookups
from tests.support.modules import module
from tests.support.operators import run

VECTOR = {"x": relax.TensorType((6,), "int32")}
TABLE = relax.const(np.arange(20, 4, -2, dtype=np.int32))

FUSE = [relax.transform.FuseOps(), relax.transform.FuseTIR()]


def annotated(body: Callable[..., Any]) -> tvm.IRModule:
    passes = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern()]
    return tvm.transform.Sequential(passes)(module(VECTOR, body))


def functions(mod: tvm.IRModule) -> list[Any]:
    return [f for f in mod.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]


def looked_up(x: relax.Expr) -> relax.Expr:
    index = R.bitwise_and(x, relax.const(7, "int32"))
    return R.add(R.take(TABLE, index, axis=0, mode="clip"), x)


def test_a_lookup_is_fused_with_what_is_before_and_after_it() -> None:
    mod = annotated(looked_up)
    assert len(functions(tvm.transform.Sequential(FUSE)(mod))) == 3
    fused = tvm.transform.Sequential([FuseLookups(), *FUSE])(mod)
    assert len(functions(fused)) == 1
    data = np.array([-9, -1, 0, 3, 8, 100], np.int32)
    np.testing.assert_array_equal(run(fused, [data]), TABLE.value.numpy()[data & 7] + data)


@pytest.mark.parametrize(
    "body",
    [lambda x: R.cumsum(x, axis=0), lambda x: R.sum(x), lambda x: R.add(x, x)],
    ids=["scan", "sum", "add"],
)
def test_other_functions_are_left_alone(body: Callable[..., Any]) -> None:
    mod = annotated(body)
    tvm.ir.assert_structural_equal(FuseLookups()(mod), mod)


def test_kernels_are_left_alone() -> None:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32")) -> None:
        T.func_attr({"op_pattern": 8})
        for i in range(8):
            with T.sblock("lookup"):
                v = T.axis.spatial(8, i)
                y[v] = x[x[v]]

    written = tvm.IRModule({"main": kernel.with_attr("qnn.is_kernel", True)})
    tvm.ir.assert_structural_equal(FuseLookups()(written), written)
    (function,) = functions(FuseLookups()(tvm.IRModule({"main": kernel})))
    assert function.attrs["op_pattern"] == 2
