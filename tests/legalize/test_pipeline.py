from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize import lower, relax_pipeline
from qnn_ops import quantized_dense, quantized_mean, quantized_softmax, requantize
from tests.support.arrays import full_range
from tests.support.modules import module
from tests.support.operators import run
from tests.support.vnni import TARGET, needs_vnni

PLAIN = tvm.target.Target("llvm")
ROWS = {"x": relax.TensorType((3, 5, 16), "int8")}
WEIGHT = full_range(np.random.default_rng(1), "int8", (24, 16))
DENSE: dict[str, Any] = {
    "input_scale": 0.05,
    "input_zero_point": 20,
    "kernel_scale": 0.01,
    "kernel_zero_point": 0,
    "output_scale": 0.07,
    "output_zero_point": 9,
    "out_dtype": "int8",
}


def layers(x: relax.Expr) -> relax.Expr:
    y = quantized_dense(x, relax.const(WEIGHT), **DENSE)
    y = quantized_mean(y, [1], True, 0.07, 9, 0.03, -4, "int8")
    return quantized_softmax(y, 0.03, -4, 1 / 256, -128, "int8")


def compiled(mod: tvm.IRModule, target: tvm.target.Target) -> str:
    with target:
        return str(relax_pipeline(target)(mod).script())


def test_chains_are_one_loop_without_buffers() -> None:
    mod = module(ROWS, lambda x: requantize(x, 0.3, 4, 0.7, -9, "int8"))
    text = compiled(lower(mod, PLAIN), PLAIN)
    assert text.count("with T.sblock(") - text.count('T.sblock("root")') == 1
    assert "sblock_alloc_buffer" not in text


def test_sums_run_along_memory() -> None:
    mod = module(ROWS, lambda x: R.matmul(x, relax.const(WEIGHT.T.copy()), out_dtype="int32"))
    assert 'T.sblock("matmul_update")' in compiled(mod, PLAIN)


def test_kernels_come_through_unchanged() -> None:
    target = tvm.target.Target(TARGET)
    mod = lower(module(ROWS, layers), target)
    (before,) = (f for name, f in mod.functions.items() if name.name_hint == "conv2d")
    with target:
        after = relax_pipeline(target)(mod)
    (kernel,) = (f for name, f in after.functions.items() if name.name_hint == "conv2d")
    tvm.ir.assert_structural_equal(kernel.body, before.body)


@pytest.mark.parametrize(
    "target", ["llvm", pytest.param(TARGET, marks=needs_vnni)], ids=["plain", "vnni"]
)
def test_results_are_those_of_tvms_own_pipeline(target: Any) -> None:
    target = tvm.target.Target(target)
    mod = lower(module(ROWS, layers), target)
    data = full_range(np.random.default_rng(2), "int8", (3, 5, 16))
    executable = tvm.compile(mod, target=target, relax_pipeline=relax_pipeline(target))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    actual = machine["main"](tvm.runtime.tensor(data)).numpy()
    assert np.unique(actual).size > 5
    np.testing.assert_array_equal(actual, run(mod, [data], target))
