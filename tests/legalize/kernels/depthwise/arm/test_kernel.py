from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.conv2d.arm.rules import LEAST_DEPTHWISE
from legalize.kernels.depthwise.arm.plan import choose_plan, split_weights
from legalize.kernels.depthwise.arm.rules import pack_depthwise
from legalize.kernels.isa.arm import ARMV7, NEON, Isa
from tests.support.arm import CORTEX_A15, CORTEX_A72, Core, on_cores, run_cases
from tests.support.arm_assembly import assembly_of, inner_loops
from tests.support.convolutions import (
    SPEC,
    Problem,
    changed,
    check_results,
    problem_of,
    random_problem,
)
from tests.support.programs import Case

ISAS = {CORTEX_A72: NEON, CORTEX_A15: ARMV7}
# The others run the same code as these.
each_kind = on_cores(*ISAS)


def case_of(isa: Isa, problem: Problem) -> Case:
    return problem.case(pack_depthwise(problem.spec, problem.weights, isa), problem.staged)


def check(core: Core, problems: list[Problem]) -> None:
    check_results(problems, run_cases(core, [case_of(ISAS[core], each) for each in problems]))


@each_kind
def test_equals_the_definition(core: Core) -> None:
    rng = np.random.default_rng(1)
    roundings = ("tflite", "upward") if core is CORTEX_A15 else ("tflite", "upward", "float32")
    drawn = [random_problem(rng, roundings, is_depthwise=True) for _ in range(24)]
    problems = [problem for problem in drawn if problem.spec.in_channels >= LEAST_DEPTHWISE]
    assert len(problems) > 10
    check(core, problems)


@each_kind
@pytest.mark.parametrize("zero_point", [0, 255])
def test_the_largest_sums_are_exact(core: Core, zero_point: int) -> None:
    spec = changed(
        SPEC,
        in_channels=24,
        out_channels=24,
        in_dtype="uint8",
        kernel_dtype="uint8",
        input_zero_point=255 - zero_point,
        dtype="int32",
    )
    rng = np.random.default_rng(2)
    problems = [
        problem_of(spec, rng, how=how, kernel_zero_point=zero_point, is_depthwise=True)
        for how in ("min", "max", "ends")
    ]
    problems += [
        problem_of(
            replace(spec, kernel_dtype="int8"), rng, how=how, kernel_zero_point=0, is_depthwise=True
        )
        for how in ("min", "ends")
    ]
    check(core, problems)


@each_kind
def test_large_kernels_are_looped_over(core: Core) -> None:
    spec = replace(
        SPEC, in_height=12, kernel_height=10, kernel_width=5, in_channels=16, out_channels=16
    )
    problem = problem_of(spec, np.random.default_rng(3), is_depthwise=True)
    case = case_of(ISAS[core], problem)
    assert "in range(10)" in str(case.function)
    check(core, [problem])


def test_small_weights_share_sums_of_16_bits() -> None:
    def terms(weight: int) -> list[int]:
        spec, weights = replace(SPEC, out_channels=16), np.full((3, 3, 16), weight)
        return [len(each) for each in choose_plan(spec, NEON, split_weights(weights)).short_sums]

    assert terms(20) == [9]
    assert terms(-127) == [2] * 4 + [1]
    assert terms(-128) == [1] * 9


@pytest.mark.parametrize("core", ISAS, ids=lambda core: core.name)
def test_accumulators_stay_in_registers(core: Core) -> None:
    """The loop over tiles keeps nothing on the stack."""
    spec = replace(SPEC, in_height=16, in_width=18, in_channels=64, out_channels=64)
    problem = problem_of(spec, np.random.default_rng(4), is_depthwise=True)
    text = assembly_of(core, case_of(ISAS[core], problem).function)
    loops = inner_loops(text, {CORTEX_A72: "smlal", CORTEX_A15: "vmlal.s8"}[core])
    assert loops
    for loop in loops:
        assert not [words for words in loop if any("sp" in word for word in words[1:])]
