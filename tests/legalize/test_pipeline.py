from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize import LegalizeQnn, lower, relax_pipeline
from legalize.pipeline import calls_pipeline
from qnn_ops import (
    fused_multiply_add,
    quantize,
    quantized_dense,
    quantized_lookup,
    quantized_mean,
    quantized_relu,
    quantized_resize2d,
    quantized_softmax,
    requantize,
)
from qnn_ops.arrays import Array
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.operators import module_of, run
from tests.support.x86 import TARGET, needs_native_vnni
from tvm_qnn.target.target import parse_target

PLAIN = tvm.target.Target("llvm")
ROWS = {"x": relax.TensorType((3, 5, 16), "int8")}
WEIGHT = full_range(np.random.default_rng(1), "int8", (24, 16))
DENSE = encodings(input=(0.05, 20), kernel=(0.01, 0), output=(0.07, 9), out_dtype="int8")


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


def test_chains_go_through_what_has_no_operator_in_relax() -> None:
    factor = relax.const(np.arange(16, dtype=np.float32))

    def body(x: relax.Expr) -> relax.Expr:
        scaled = fused_multiply_add(R.astype(x, "float32"), factor, factor)
        y = quantize(scaled, 1.0, 0, "int8", multiplier=1.0)
        return quantized_relu(y, 0.5, 0, 0.5, 3, "uint8")

    text = compiled(lower(relax.transform.Normalize()(module(ROWS, body)), PLAIN), PLAIN)
    assert text.count("@T.prim_func") == 1


def test_lookups_are_part_of_a_chain() -> None:
    table = relax.const(np.arange(256, dtype=np.uint8))
    mod = module(ROWS, lambda x: quantized_lookup(x, table))
    text = compiled(lower(mod, PLAIN), PLAIN)
    assert text.count("with T.sblock(") - text.count('T.sblock("root")') == 1


def test_sums_run_along_memory() -> None:
    mod = module(ROWS, lambda x: R.matmul(x, relax.const(WEIGHT.T.copy()), out_dtype="int32"))
    assert 'T.sblock("matmul_update")' in compiled(mod, PLAIN)


def test_kernels_come_through_unchanged() -> None:
    target = tvm.target.Target(TARGET)
    mod = lower(module(ROWS, layers), target)
    (before,) = (f for name, f in mod.functions.items() if name.name_hint == "z_conv2d")
    with target:
        after = calls_pipeline(target)(mod)
    (kernel,) = (f for name, f in after.functions.items() if name.name_hint == "z_conv2d")
    tvm.ir.assert_structural_equal(kernel.body, before.body)


both_targets = pytest.mark.parametrize(
    "target", ["llvm", pytest.param(TARGET, marks=needs_native_vnni)], ids=["plain", "vnni"]
)


def run_through(mod: tvm.IRModule, target: Any, data: Array) -> Array:
    target = tvm.target.Target(target)
    pipeline = relax_pipeline(target)
    executable = tvm.compile(mod, target=target, relax_pipeline=pipeline)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return np.asarray(machine["main"](tvm.runtime.tensor(data)).numpy())


@both_targets
def test_results_are_those_of_tvms_own_pipeline(target: Any) -> None:
    mod = lower(module(ROWS, layers), tvm.target.Target(target))
    data = full_range(np.random.default_rng(2), "int8", (3, 5, 16))
    actual = run_through(mod, target, data)
    assert np.unique(actual).size > 5
    np.testing.assert_array_equal(actual, run(mod, [data], target))


@both_targets
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_resize_in_one_loop_rounds_every_product(target: Any, dtype: str) -> None:
    data = full_range(np.random.default_rng(2), dtype, (1, 9, 7, 20))
    attrs: dict[str, Any] = {"size": (31, 40), "method": "bilinear"}
    mod = LegalizeQnn()(module_of(quantized_resize2d, [data], **attrs))
    expected = quantized_resize2d.evaluate(data, **attrs)
    np.testing.assert_array_equal(run_through(mod, target, data), expected)


@pytest.mark.parametrize(("name", "calls"), [("x86-avx2", 1), ("cortex-m0plus", 2), ("riscv32", 2)])
def test_only_for_processors_with_a_virtual_machine_calls_become_one(name: str, calls: int) -> None:
    target = parse_target(name)
    data = {"x": relax.TensorType((3, 5, 16), "float32")}
    mod = module(data, lambda x: relax.op.max(relax.op.max(x, axis=0), axis=0))
    with target:
        done = relax_pipeline(target)(lower(mod, target, kernels=False))
    functions = [f for f in done.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]
    assert len(functions) == calls
