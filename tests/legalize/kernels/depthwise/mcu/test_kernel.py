from dataclasses import replace
from pathlib import Path

import numpy as np

from legalize.kernels.conv2d.plan import Ready
from legalize.kernels.depthwise.mcu.kernel import packed_taps
from legalize.kernels.depthwise.mcu.rules import plan_depthwise
from tests.support import mcu
from tests.support.convolutions import (
    SPEC,
    Problem,
    changed,
    check_results,
    problem_of,
    random_problem,
)
from tests.support.x86 import run_cases
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target

ROUNDINGS = ("tflite", "upward", "float64")


def with_pairs(problem: Problem) -> Ready | None:
    return plan_depthwise(problem.spec, problem.weights, has_pairs=True)


def test_equals_the_definition() -> None:
    rng = np.random.default_rng(1)
    served = 0
    for _ in range(250):
        problem = random_problem(rng, ROUNDINGS, is_depthwise=True)
        plan = plan_depthwise(problem.spec, problem.weights, has_pairs=False)
        if plan is not None:
            check_results([problem], run_cases("nehalem", [problem.case(plan)]))
            served += 1
    assert served > 10


@mcu.emulated
def test_fours_of_channels_equal_the_definition(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    drawn = [random_problem(rng, ROUNDINGS, is_depthwise=True) for _ in range(150)]
    spec = replace(SPEC, in_channels=8, out_channels=8)
    drawn += [
        problem_of(replace(spec, in_dtype=dtype), rng, is_depthwise=True)
        for dtype in ("int8", "uint8")
    ]
    plans = mcu.check_problems("cortex-m4", drawn, with_pairs, tmp_path)
    assert {plan.build.keywords["has_pairs"] for plan in plans} == {True, False}


def test_layers_of_many_sizes_are_one_function() -> None:
    rng, functions = np.random.default_rng(5), {}
    for side, channels in ((3, 64), (6, 24), (9, 48), (24, 8)):
        spec = replace(SPEC, in_height=side, in_width=side, in_channels=channels)
        spec = changed(spec, out_channels=channels, padding=(1, 1, 1, 1), rounding="upward")
        scales = np.linspace(0.9, 1.1, channels) * 2.0**-8
        problem = replace(problem_of(spec, rng, is_depthwise=True), real_multiplier=scales)
        plan = with_pairs(problem)
        assert plan is not None
        functions[f"f{side}"] = plan.build()
    compiled = compile_functions(functions, {n: n for n in functions}, parse_target("cortex-m4"))
    merged = compiled.merged({name: {"": ()} for name in functions})
    assert [*merged.functions] == ["f3"]
    assert all((0, 3) in each for each in compiled.leads(4).values())


def test_four_channels_of_a_tap_are_a_register() -> None:
    kernel = np.arange(16, dtype=np.int8).reshape(1, 2, 8)
    packed = packed_taps(kernel, has_pairs=True).reshape(2, 2, 4)
    assert packed.tolist() == [
        [[0, 1, 2, 3], [8, 9, 10, 11]],
        [[4, 5, 6, 7], [12, 13, 14, 15]],
    ]


def test_channels_that_are_no_fours_are_taken_one_by_one() -> None:
    spec = replace(SPEC, in_channels=6, out_channels=6)
    problem = problem_of(spec, np.random.default_rng(2), is_depthwise=True)
    plan = with_pairs(problem)
    assert plan is not None
    assert not plan.build.keywords["has_pairs"]


def test_a_core_with_pairs_multiplies_halves() -> None:
    spec = replace(SPEC, in_channels=8, out_channels=8)
    problem = problem_of(spec, np.random.default_rng(3), is_depthwise=True)
    plan = with_pairs(problem)
    assert plan is not None
    functions = {"conv": plan.build()}
    compiled = compile_functions(functions, {"conv": "m_conv"}, parse_target("cortex-m4"))
    code = compiled.module.inspect_source("asm")
    assert code.count("smlabb") >= 18
    assert code.count("smlatt") >= 18
    # Weights of two taps, and the numbers that rescale a channel.
    assert code.count("ldrd") >= 4 + 4
