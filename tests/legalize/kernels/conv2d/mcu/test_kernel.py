from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.kernel import choose_tile, packed_rows
from legalize.kernels.conv2d.mcu.rules import McuPlan, plan_conv2d
from legalize.kernels.rescale import Form
from tests.support.convolutions import SPEC, Problem, problem_of, random_problem
from tests.support.x86 import run_on
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target

POINTWISE = replace(SPEC, kernel_height=1, kernel_width=1)


def planned(problem: Problem, *, has_pairs: bool = False) -> McuPlan:
    plan = plan_conv2d(problem.spec, problem.weights, has_pairs=has_pairs)
    assert plan is not None
    return plan


def check(problem: Problem, plan: McuPlan) -> None:
    spec = problem.spec
    inputs = [problem.data, *plan.constants]
    shape, dtype = spec.out_shape, spec.output.dtype
    result = run_on("nehalem", plan.function(plan), inputs, shape, dtype)
    np.testing.assert_array_equal(result, problem.result, err_msg=str(spec))


def test_equals_the_definition() -> None:
    rng = np.random.default_rng(1)
    served = 0
    for _ in range(100):
        problem = random_problem(rng, ("tflite", "upward", "float64"))
        plan = plan_conv2d(problem.spec, problem.weights, has_pairs=False)
        if plan is not None:
            check(problem, plan)
            served += 1
    assert served > 10


@pytest.mark.parametrize("spec", [SPEC, POINTWISE])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_windows_and_single_pixels(spec: object, dtype: str) -> None:
    assert isinstance(spec, type(SPEC))
    spec = replace(spec, in_dtype=dtype, padding=(1, 0, 1, 1), strides=(2, 1))
    problem = problem_of(spec, np.random.default_rng(2))
    check(problem, planned(problem))


@pytest.mark.parametrize("left", [np.array([1]), np.arange(24) % 3])
@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("signs", [1, 2])
def test_every_kind_of_form_is_computed_as_numpy_does(
    left: np.ndarray, signs: int, *, is_wide: bool
) -> None:
    problem = problem_of(POINTWISE, np.random.default_rng(3))
    dtype, scale = (np.int64, 1 << 32) if is_wide else (np.int32, 1)
    addend = (np.arange(24 * signs).reshape(signs, 24) * 100 * scale).astype(dtype)
    form = Form(left, 4, np.full(24, 1 << 25, np.int32), addend)
    plan = planned(problem)
    own = replace(plan, epilogue=Epilogue(problem.spec.output, form))
    inputs = [problem.data, *own.constants]
    spec = problem.spec
    result = run_on("nehalem", own.function(own), inputs, spec.out_shape, "int8")
    centred = problem.data.astype(np.int64) - spec.input_zero_point
    sums = centred @ problem.kernel[:, 0, 0].T.astype(np.int64) + problem.bias
    np.testing.assert_array_equal(result, np.clip(form(sums), -128, 127))


def assembly(problem: Problem, name: str, *, has_pairs: bool) -> str:
    plan = planned(problem, has_pairs=has_pairs)
    functions = {"conv": plan.function(plan)}
    compiled = compile_functions(functions, {"conv": "m_conv"}, parse_target(name))
    return str(compiled.module.inspect_source("asm"))


def test_a_core_with_pairs_multiplies_two_at_a_time_and_calls_nothing() -> None:
    problem = problem_of(replace(POINTWISE, in_channels=64), np.random.default_rng(4))
    code = assembly(problem, "cortex-m4", has_pairs=True)
    for instruction in ("smlad", "sxtb16", "smm"):
        assert instruction in code
    assert "\tbl\t" not in code
    # What a wider sum would take.
    assert "adc" not in code


@pytest.mark.parametrize("name", ["cortex-m3", "riscv32"])
def test_other_cores_multiply_bytes_one_by_one(name: str) -> None:
    problem = problem_of(POINTWISE, np.random.default_rng(5))
    code = assembly(problem, name, has_pairs=False)
    assert "smlad" not in code
    assert "\tbl\t" not in code


def test_words_are_filled_with_zeros() -> None:
    tile = choose_tile(replace(POINTWISE, in_channels=3), has_pairs=True)
    rows = np.arange(1, 13, dtype=np.int8).reshape(4, 3)
    packed = packed_rows(rows, tile, 4).reshape(2, 2, 4)
    assert packed.tolist() == [[[1, 2, 3, 0], [4, 5, 6, 0]], [[7, 8, 9, 0], [10, 11, 12, 0]]]


def test_a_tile_s_channels_divide_all() -> None:
    for channels, expected in ((7, 1), (8, 2)):
        tile = choose_tile(replace(SPEC, out_channels=channels), has_pairs=True)
        assert (tile.pixels, tile.channels) == (3, expected)
    single = replace(POINTWISE, in_height=1, in_width=1, out_channels=8)
    assert choose_tile(single, has_pairs=True).channels == 4
