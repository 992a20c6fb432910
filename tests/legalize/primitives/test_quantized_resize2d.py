from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from tvm import relax
from tvm.s_tir import Schedule

import legalize
from qnn_ops import quantized_resize2d
from tests.support.arrays import full_range
from tests.support.cases.quantized_resize2d import resizes
from tests.support.operators import check_operator, module_of


@given(resizes())
@settings(max_examples=20, deadline=None)
def test_primitives_equal_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    operands, attrs = case
    check_operator(quantized_resize2d, operands, **attrs)


@pytest.mark.parametrize("centers", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_fused_multiply_add_does_not_change_the_result(centers: dict[str, bool]) -> None:
    # On this machine's own processor, all in one loop: there LLVM fuses what it may. Without the
    # bound on the products this test fails on processors that have such an instruction.
    data = full_range(np.random.default_rng(0), "uint8", (1, 17, 13, 64))
    attrs: dict[str, Any] = {"size": (41, 37), "method": "bilinear", **centers}
    machine_target = tvm.target.Target(
        {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()}
    )
    lowered = legalize.LegalizeQnn()(module_of(quantized_resize2d, [data], **attrs))
    executable = tvm.compile(_in_one_loop(lowered), target=machine_target)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(data)).numpy()
    np.testing.assert_array_equal(result, quantized_resize2d.evaluate(data, **attrs))


def _in_one_loop(mod: tvm.IRModule) -> tvm.IRModule:
    passes = relax.transform
    mod = tvm.transform.Sequential(
        [
            passes.LegalizeOps(),
            passes.AnnotateTIROpPattern(),
            passes.FoldConstant(),
            passes.FuseOps(),
            passes.FuseTIR(),
            passes.DeadCodeElimination(),
        ]
    )(mod)
    for variable, function in mod.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            schedule = Schedule(tvm.IRModule({"main": function}))
            for block in schedule.get_child_blocks(schedule.get_sblock("root"))[:-1]:
                schedule.compute_inline(block)
            mod[variable] = schedule.mod["main"]
    return mod
