from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Ready
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.depthwise.mcu.columns import kind_of, serves
from legalize.kernels.depthwise.mcu.helium import lanes_of
from legalize.kernels.depthwise.mcu.rules import groups_of, plan_helium
from tests.support import mcu
from tests.support.convolutions import SPEC, Problem, changed, problem_of, random_problem
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target


def with_channels(spec: ConvSpec, channels: int) -> ConvSpec:
    return replace(spec, in_channels=channels, out_channels=channels)


def planned(problem: Problem) -> Ready | None:
    return plan_helium(problem.spec, problem.weights)


WIDE = replace(with_channels(SPEC, 32), padding=(1, 1, 1, 1))
LARGE = replace(WIDE, kernel_height=5, kernel_width=5, padding=(2, 2, 2, 2))


def of_all_kinds(rng: np.random.Generator) -> list[Problem]:
    """Return problems whose constants are of all kinds that ``columns`` has."""
    problems = []
    odd, near = np.arange(9) % 2, np.linspace(0.9, 1.1, 9)
    for rounding in ("upward", "tflite"):
        for strides in ((1, 1), (2, 2)):
            spec = changed(with_channels(WIDE, 9), rounding=rounding, strides=strides)
            problem = problem_of(spec, rng, is_depthwise=True)
            zeros = replace(problem, bias=np.zeros_like(problem.bias))
            problems += [replace(zeros, real_multiplier=each / 512) for each in (near, near**0)]
            for bits in (20, 22, 24):
                # Sums of some channels are too large to be shifted as far as others'.
                scales = np.where(odd, 2.0 ** (6 - bits), 2.0**-5) * near
                bias = np.where(odd, (1 << bits) - 5000, 0).astype(np.int32)
                problems.append(replace(problem, real_multiplier=scales, bias=bias))
    plans = [planned(each) for each in problems]
    kinds = [
        kind_of(plan.spec, plan.build.keywords["epilogue"]) for plan in plans if plan is not None
    ]
    for name in ("doubles", "has_multipliers", "has_lefts", "has_signs", "has_bias"):
        assert len({getattr(kind, name) for kind in kinds}) == 2
    return problems


@mcu.emulated
def test_equals_the_definition(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    roundings = "tflite", "upward", "float64"
    drawn = [random_problem(rng, roundings, is_depthwise=True) for _ in range(200)]
    for channels in (4, 8, 12, 16, 23, 40):
        for spec in (with_channels(WIDE, channels), with_channels(LARGE, channels)):
            for strides in ((1, 1), (2, 2), (1, 3)):
                drawn.append(problem_of(replace(spec, strides=strides), rng, is_depthwise=True))
    for width in range(2, 30):
        spec = replace(WIDE, batch=2, in_channels=9, out_channels=9, in_width=width)
        window = replace(spec, kernel_height=1 + width % 4, kernel_width=1 + width // 4 % 3)
        bounded = replace(spec, output=replace(spec.output, low=-100 + width, high=90))
        for each in (spec, window, bounded):
            drawn.append(problem_of(each, rng, is_depthwise=True))
    drawn += of_all_kinds(rng)
    # The offsets of so wide an image need all their bits.
    spec = replace(with_channels(WIDE, 9), in_height=3, in_width=1300)
    drawn.append(problem_of(spec, rng, is_depthwise=True))
    for how in ("ends", "min", "max"):
        for spec in (WIDE, LARGE):
            drawn.append(problem_of(spec, rng, how=how, is_depthwise=True))
    plans = mcu.check_problems("cortex-m55", drawn, planned, tmp_path)
    by_columns = ["groups" not in plan.build.keywords for plan in plans]
    assert by_columns.count(True) > 80
    assert by_columns.count(False) > 12


@pytest.mark.parametrize(
    ("spec", "instructions"),
    [
        (WIDE, ("vmlav.s8", "vmulh.s32", "vqshrnt.s32", "vstrb.16")),
        (LARGE, ("vmullb.s8", "vmullt.s8", "vmulh.s32", "vqmovnt.s16")),
    ],
)
def test_products_are_of_vectors(spec: ConvSpec, instructions: tuple[str, ...]) -> None:
    code = code_of(problem_of(spec, np.random.default_rng(2), is_depthwise=True))
    for instruction in instructions:
        assert instruction in code


def test_layers_of_many_sizes_are_one_function() -> None:
    rng, functions = np.random.default_rng(5), {}
    for side, channels in ((6, 40), (6, 72), (12, 64), (6, 24), (3, 52)):
        scales = np.linspace(0.9, 1.1, channels) * 2.0**-8
        spec = with_channels(WIDE, channels)
        spec = changed(spec, in_height=side, in_width=side, rounding="upward")
        problem = problem_of(spec, rng, is_depthwise=True)
        zeros = np.zeros_like(problem.bias)
        problem = replace(problem, real_multiplier=scales, bias=zeros)
        plan = planned(problem)
        assert plan is not None
        functions[f"f{channels}"] = plan.build()
    compiled = compile_functions(functions, {n: n for n in functions}, parse_target("cortex-m55"))
    merged = compiled.merged({name: {"": ()} for name in functions})
    assert [*merged.functions] == ["f40"]
    assert all((0, 3) in each for each in compiled.leads(4).values())


def test_columns_lie_no_farther_apart_than_offsets_reach() -> None:
    for width, is_served in ((2043, True), (2044, False)):
        assert serves(replace(WIDE, in_width=width)) == is_served
    assert not serves(with_channels(WIDE, 9363))


def test_a_product_and_its_addend_are_one_instruction() -> None:
    """Check it where one addend serves all sums, as without ties at negative ones."""
    rng = np.random.default_rng(3)
    output = replace(WIDE.output, low=0, rounding="upward")
    problem = problem_of(replace(WIDE, output=output), rng, is_depthwise=True)
    code = code_of(replace(problem, bias=np.zeros_like(problem.bias)))
    assert "vqdmlash.s32" in code
    assert "vmulh" not in code


def code_of(problem: Problem) -> str:
    plan = planned(problem)
    assert plan is not None
    return mcu.assembly_of(plan.build(), "cortex-m55")


def test_taps_are_joined_as_far_as_16_bits_go() -> None:
    rows = np.array([[127, 100, 27, -128], [1, 1, 100, 3]], np.int8)
    groups = groups_of(rows)
    assert sorted(tap for group in groups for tap in group) == [0, 1, 2, 3]
    for group in groups:
        assert np.abs(rows[:, group].astype(int)).sum(axis=1).max() <= 255
    assert len(groups) == 2


def test_few_channels_are_those_of_several_pixels() -> None:
    for channels, strides, expected in ((8, 1, 8), (8, 2, None), (6, 1, None), (40, 2, 16)):
        spec = with_channels(WIDE, channels)
        assert lanes_of(replace(spec, strides=(strides, strides))) == expected
