from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from legalize.kernels.depthwise.mcu.helium import lanes_of
from legalize.kernels.depthwise.mcu.helium_plan import groups_of, plan_helium
from tests.support import mcu
from tests.support.convolutions import SPEC, problem_of, random_problem
from tests.support.programs import Case
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target

WIDE = replace(SPEC, in_channels=32, out_channels=32, padding=(1, 1, 1, 1))


@mcu.emulated
def test_equals_the_definition(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    roundings = "tflite", "upward", "float64"
    drawn = [random_problem(rng, roundings, is_depthwise=True) for _ in range(200)]
    for channels in (4, 8, 16, 24, 40):
        spec = replace(WIDE, in_channels=channels, out_channels=channels)
        for strides in ((1, 1), (2, 2)):
            drawn.append(problem_of(replace(spec, strides=strides), rng, is_depthwise=True))
    for how in ("ends", "min", "max"):
        drawn.append(problem_of(WIDE, rng, how=how, is_depthwise=True))
    plans = [plan_helium(problem.spec, problem.weights) for problem in drawn]
    served = [(each, plan) for each, plan in zip(drawn, plans, strict=True) if plan is not None]
    assert len(served) > 12
    cases = [
        Case(plan.function(plan), [problem.data, *plan.constants], problem.spec.out_shape, "int8")
        for problem, plan in served
    ]
    results = mcu.run_cases("cortex-m55", cases, tmp_path)
    for (problem, _), result in zip(served, results, strict=True):
        np.testing.assert_array_equal(result, problem.result, err_msg=str(problem.spec))


def test_products_are_of_vectors() -> None:
    problem = problem_of(WIDE, np.random.default_rng(2), is_depthwise=True)
    plan = plan_helium(problem.spec, problem.weights)
    assert plan is not None
    target = parse_target("cortex-m55")
    compiled = compile_functions({"conv": plan.function(plan)}, {"conv": "m_conv"}, target)
    code = str(compiled.module.inspect_source("asm"))
    for instruction in ("vmullb.s8", "vmullt.s8", "vmulh.s32", "vqmovnt.s16"):
        assert instruction in code


def test_taps_are_joined_as_far_as_16_bits_go() -> None:
    rows = np.array([[127, 100, 27, -128], [1, 1, 100, 3]], np.int8)
    groups = groups_of(rows)
    assert sorted(tap for group in groups for tap in group) == [0, 1, 2, 3]
    for group in groups:
        assert np.abs(rows[:, group].astype(int)).sum(axis=1).max() <= 255
    assert len(groups) == 2


def test_few_channels_are_those_of_several_pixels() -> None:
    for channels, strides, expected in ((8, 1, 8), (8, 2, None), (6, 1, None), (40, 2, 16)):
        spec = replace(WIDE, in_channels=channels, out_channels=channels)
        assert lanes_of(replace(spec, strides=(strides, strides))) == expected
