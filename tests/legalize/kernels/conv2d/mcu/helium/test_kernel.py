from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from legalize.kernels.conv2d.mcu.helium.kernel import Tile, choose_tile, packed_rows
from legalize.kernels.conv2d.mcu.helium.plan import HeliumPlan, plan_helium
from tests.support import mcu
from tests.support.convolutions import SPEC, Problem, problem_of, random_problem
from tests.support.programs import Case
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target

POINTWISE = replace(SPEC, in_channels=64, kernel_height=1, kernel_width=1)


def planned(problem: Problem) -> HeliumPlan:
    plan = plan_helium(problem.spec, problem.weights)
    assert plan is not None
    return plan


def case_of(problem: Problem, plan: HeliumPlan) -> Case:
    spec, inputs = problem.spec, [problem.data, *plan.constants]
    return Case(plan.function(plan), inputs, spec.out_shape, spec.output.dtype)


@mcu.emulated
def test_equals_the_definition(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    drawn = [random_problem(rng, ("tflite", "upward", "float64")) for _ in range(150)]
    # Rows of several vectors, and of rests of all kinds; dense layers; borders on each side.
    for channels, outputs in ((64, 10), (144, 7), (40, 12), (13, 4), (640, 8)):
        spec = replace(SPEC, in_channels=channels, out_channels=outputs)
        pointwise = replace(spec, kernel_height=1, kernel_width=1)
        drawn.append(problem_of(pointwise, rng))
        drawn.append(problem_of(replace(pointwise, in_height=1, in_width=1), rng))
    for padding in ((1, 1, 1, 1), (0, 2, 1, 0)):
        drawn.append(problem_of(replace(SPEC, padding=padding, strides=(2, 1)), rng))
    plans = [plan_helium(problem.spec, problem.weights) for problem in drawn]
    served = [(each, plan) for each, plan in zip(drawn, plans, strict=True) if plan is not None]
    assert len(served) > 20
    results = mcu.run_cases("cortex-m55", [case_of(*each) for each in served], tmp_path)
    for (problem, _), result in zip(served, results, strict=True):
        np.testing.assert_array_equal(result, problem.result, err_msg=str(problem.spec))


def test_sixteen_products_are_added_at_a_time_and_nothing_is_called() -> None:
    problem = problem_of(POINTWISE, np.random.default_rng(4))
    plan = planned(problem)
    target = parse_target("cortex-m55")
    compiled = compile_functions({"conv": plan.function(plan)}, {"conv": "m_conv"}, target)
    code = str(compiled.module.inspect_source("asm"))
    for instruction in ("vmlav.s8", "vmlava.s8", "vmulh.s32", "vqshl.s32"):
        assert instruction in code
    assert "\tbl\t" not in code


def test_data_of_other_kinds_is_left_to_other_kernels() -> None:
    rng = np.random.default_rng(5)
    problem = problem_of(replace(POINTWISE, in_dtype="uint8"), rng)
    assert plan_helium(problem.spec, problem.weights) is None
    problem = problem_of(POINTWISE, rng, kernel_zero_point=3)
    assert plan_helium(problem.spec, problem.weights) is None


def test_rows_are_filled_to_vectors_and_fours() -> None:
    packed = packed_rows(np.ones((3, 18), np.int8), Tile(1, 2)).reshape(2, 2, 2, 16)
    assert packed[0].sum(axis=-1).tolist() == [[16, 16], [2, 2]]
    assert packed[1].sum(axis=-1).tolist() == [[16, 0], [2, 0]]


def test_a_single_pixel_has_more_channels() -> None:
    single = replace(POINTWISE, in_height=1, in_width=1)
    assert choose_tile(single) == Tile(1, 4)
    assert choose_tile(POINTWISE) == Tile(3, 2)
