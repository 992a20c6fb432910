"""quantized_pad, quantized_concat and quantized_resize2d in Relax primitives."""

from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tvm import relax
from tvm.s_tir import Schedule

import legalize
from qnn_ops import quantized_concat, quantized_pad, quantized_resize2d
from tests.support.arrays import full_range
from tests.support.cases import random_concat
from tests.support.operators import check_operators, module_of


@st.composite
def paddings(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from(["int8", "uint8"]))
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    widths = [draw(st.integers(0, 3)) for _ in range(2 * len(shape))]
    # At least one: without any no code is left, which TVM can only run with a C compiler.
    assume(any(widths))
    attrs = {"pad_width": widths, "pad_value": full_range(rng, dtype, ()).item()}
    return [full_range(rng, dtype, shape)], attrs


@given(st.lists(paddings(), min_size=5, max_size=5))
@settings(max_examples=3)
def test_primitives_equal_the_reference(cases: list[tuple[list[Any], dict[str, Any]]]) -> None:
    check_operators([(quantized_pad, *case) for case in cases])


SEEDS = st.integers(0, 2**32 - 1)
DTYPES = st.sampled_from(["int8", "uint8", "uint8", "uint8"])


@given(st.lists(st.tuples(SEEDS, DTYPES), min_size=5, max_size=5))
@settings(max_examples=3)
def test_primitives_equal_the_reference_of_quantized_concat(drawn: list[tuple[int, str]]) -> None:
    cases = [random_concat(np.random.default_rng(seed), dtype) for seed, dtype in drawn]
    check_operators([(quantized_concat, *case) for case in cases])


def test_a_variable_of_a_tuple_type_is_lowered_too() -> None:
    rng = np.random.default_rng(1)
    arrays = [full_range(rng, "uint8", (2, 3)), full_range(rng, "uint8", (2, 1))]
    tensors = [relax.TensorType(array.shape, "uint8") for array in arrays]
    pair = relax.Var("pair", relax.TupleType(tensors))
    builder = relax.BlockBuilder()
    scales, zero_points = [0.5, 0.3], [10, 20]
    with builder.function("main", [pair]):
        result = quantized_concat(pair, scales, zero_points, 0.5, 10, "uint8")
        builder.emit_func_output(builder.emit(result))
    lowered = legalize.LegalizeQnn()(builder.get())
    machine = relax.VirtualMachine(tvm.compile(lowered, target="llvm"), tvm.cpu())
    actual = machine["main"](tuple(tvm.runtime.tensor(array) for array in arrays)).numpy()
    expected = quantized_concat.evaluate(arrays, scales, zero_points, 0.5, 10, "uint8")
    np.testing.assert_array_equal(actual, expected)


def test_the_lowered_code_has_no_float_arithmetic() -> None:
    # So no compiler can contract or reorder it.
    (inputs,), attrs = random_concat(np.random.default_rng(2), "uint8")
    lowered = legalize.LegalizeQnn()(module_of(quantized_concat, [inputs], **attrs))
    assert "R.take" in lowered.script()
    assert "float" not in lowered.script()


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
