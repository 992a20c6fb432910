import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm

from legalize.kernels.border import Border
from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan, cut
from legalize.kernels.conv2d.x86.winograd.transform import wraps_back
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, SSE41, Isa
from legalize.kernels.kernel import Slice
from qnn_ops import quantized_add
from tests.legalize.kernels.conv2d.x86.test_fusions import DTYPES, in_float32
from tests.legalize.kernels.conv2d.x86.test_fusions import Problem as Sum
from tests.legalize.kernels.conv2d.x86.test_fusions import check as check_sums
from tests.support import x86
from tests.support.convolutions import (
    Problem,
    changed,
    check_results,
    problem_of,
    random_problem,
)
from tests.support.kernels import Place, at_x86
from tests.support.programs import Case

ISAS = {isa.name: isa for isa in (AVX512_VNNI, AVX512BW, AVX2, SSE41)}
each_place = at_x86(ISAS)


def problems(seed: int, count: int, isa: Isa) -> list[Problem]:
    """Convolutions that have a transform, of any other property."""
    rng = np.random.default_rng(seed)
    drawn: list[Problem] = []
    while len(drawn) < count:
        drawn_spec = random_problem(rng, ("tflite", "upward", "float32")).spec
        window = [(3, 3), (3, 3), (1, 3), (3, 1)][int(rng.integers(4))]
        spec = replace(
            drawn_spec,
            in_height=int(rng.integers(3, 14)),
            in_width=int(rng.integers(3, 14)),
            # With VNNI rows of words may end in half a vector.
            in_channels=isa.lanes
            * int(rng.integers(2, 6) if isa.has_byte_products else 2 * rng.integers(1, 4)),
            kernel_height=window[0],
            kernel_width=window[1],
            strides=(1, 1),
            dilation=(1, 1),
            staged_dtype="uint8",
        )
        plan = cut(spec, isa)
        if plan is None:  # a small image
            continue
        how = ["random", "ends", "min", "max"][len(drawn) % 4]
        problem = problem_of(spec, rng, how=how)
        if isa.has_byte_products and not wraps_back(plan.transform, problem.weights.centred):
            continue
        drawn.append(problem)
    return drawn


def case_of(problem: Problem, isa: Isa, plan: WinogradPlan | None = None) -> Case:
    plan = plan or cut(problem.spec, isa)
    assert plan is not None
    return x86.case_of(plan, problem.staged, problem.weights)


TOLD_APART = {
    AVX512_VNNI: (0, 1, 2, 5, 6, 7, 12, 21, 22),
    AVX512BW: (0, 1, 2, 5, 6, 10, 14, 15, 23, 26),
    AVX2: (0, 1, 2, 3, 5, 6, 11, 20),
    SSE41: (0, 1, 2, 4, 7),
}
"""The places of drawn convolutions that reach what others do not.

To find them anew, trace the lines and branches of `legalize/kernels/conv2d` in each of the first 24
convolutions, and keep those that reach one that those before do not. Then add one whose last panel
overlaps the one before (`panels * panel > tiles`), and which fails if `WinogradKernel._units` does
not bound `first`. With VNNI no convolution has such a panel.
"""


@each_place
def test_outputs_equal_the_definition(place: Place) -> None:
    isa = ISAS[place.name]
    every = problems(1, max(TOLD_APART[isa]) + 1, isa)
    drawn = [every[number] for number in TOLD_APART[isa]]
    check_results(drawn, place.run([case_of(problem, isa) for problem in drawn]))


@at_x86([AVX512_VNNI.name])
def test_outputs_are_right_though_their_parts_leave_int32(place: Place) -> None:
    (drawn,) = problems(5, 1, AVX512_VNNI)
    spec = changed(drawn.spec, kernel_dtype="int8", has_asymmetric_kernel=False, dtype="int32")
    spec = replace(spec, in_channels=96, kernel_height=3, kernel_width=3, in_height=12, in_width=12)
    problem = problem_of(changed(spec, border=None), np.random.default_rng(0), how="max")
    plan = cut(problem.spec, AVX512_VNNI)
    assert plan is not None
    assert wraps_back(plan.transform, problem.weights.centred)
    largest = int(np.abs(problem.result.astype(np.int64)).max())
    assert largest * plan.transform.scale > 2**31
    check_results([problem], place.run([case_of(problem, AVX512_VNNI)]))


@pytest.mark.parametrize(
    ("dtype", "rounding", "factor"),
    [("uint8", "tflite", 576), ("uint8", "float32", 1), ("int32", "tflite", 1)],
)
def test_sums_are_divided_where_no_epilogue_takes_them_as_they_come(
    dtype: str, rounding: str, factor: int
) -> None:
    (drawn,) = problems(5, 1, AVX512_VNNI)
    spec = changed(drawn.spec, kernel_dtype="int8", has_asymmetric_kernel=False, dtype=dtype)
    spec = replace(spec, in_channels=32, kernel_height=3, kernel_width=3, in_height=12, in_width=12)
    spec = changed(spec, border=None, residual=None, zero_point=0, low=0, high=255)
    problem = problem_of(changed(spec, rounding=rounding), np.random.default_rng(0))
    plan = cut(problem.spec, AVX512_VNNI)
    assert plan is not None
    packed = plan.pack(problem.weights)
    assert packed.epilogue.factor == factor
    script = plan.function(packed).script()
    assert ("llvm.vp.mul" in script) == (factor == 1)


@each_place
def test_panels_and_tasks_share_an_image(place: Place) -> None:
    isa = ISAS[place.name]
    (problem,) = problems(2, 1, isa)
    spec = replace(problem.spec, batch=2, in_height=30, in_width=31, out_channels=5 * isa.lanes)
    problem = problem_of(changed(spec, border=None, residual=None), np.random.default_rng(0))
    plan = cut(problem.spec, isa)
    assert plan is not None
    cases = []
    for panel, group in ((6, 2), (plan.tiles // 3 * 3, 3), (1, 1), (48, 6)):
        sections = tuple(replace(section, mr=group) for section in plan.tiling)
        cases.append(case_of(problem, isa, replace(plan, panel=panel, tiling=sections)))
    assert any("T.parallel" in case.function.script() for case in cases)
    check_results([problem] * len(cases), place.run(cases))


@each_place
def test_outputs_are_parts_and_have_borders(place: Place) -> None:
    isa = ISAS[place.name]
    plain, channels = problems(3, 1, isa)[0].spec, 3 * isa.lanes + 5
    plain = replace(plain, kernel_height=3, kernel_width=3, in_height=9, in_width=8)
    plain = changed(plain, dtype="uint8", out_channels=channels, zero_point=3)
    problem = problem_of(changed(plain, low=0, high=255), np.random.default_rng(1))
    border, part = Border((1, 2, 0, 1), 77), Slice(channels + 9, 4)
    specs = changed(problem.spec, border=border), changed(problem.spec, part=part)
    ended = [replace(problem, spec=spec) for spec in specs]
    check_results(ended, place.run([case_of(each, isa) for each in ended]))


@each_place
def test_another_tensor_is_added(place: Place) -> None:
    has_dots = ISAS[place.name].has_byte_products
    conv: dict[str, Any] = {"window": 3, "in_channels": 64, "pixels": (16, 16)}
    problems = [
        Sum(quantized_add, 48, DTYPES[0], is_rhs=False, **conv),
        in_float32(48, DTYPES[0], model_dtype="uint8", is_rhs=False, **conv),
    ]
    if place.name == SSE41.name:  # it has no fused multiply-add
        del problems[1]
    size = (36 if has_dots else 16) * 64 * 48
    for problem in problems:
        weights = problem.case(place.target).inputs[1]
        assert (weights.dtype, weights.size) == (np.int16, size), "it was not transformed"
    check_sums(place, problems)


@pytest.mark.parametrize(
    ("isa", "mcpu", "register"),
    [
        (AVX512_VNNI, "cascadelake", "%zmm"),
        (AVX512BW, "skylake-avx512", "%zmm"),
        (AVX2, "haswell", "%ymm"),
        (SSE41, "nehalem", "%xmm"),
    ],
)
def test_the_sums_stay_in_registers(isa: Isa, mcpu: str, register: str) -> None:
    """The innermost loop multiplies and adds, and stores nothing."""
    spec = replace(problems(4, 1, isa)[0].spec, kernel_height=3, kernel_width=3, in_height=30)
    spec = replace(spec, in_width=30, in_channels=64, out_channels=64, padding=(0, 0, 0, 0))
    problem = problem_of(spec, np.random.default_rng(0))
    plan = cut(spec, isa)
    assert plan is not None
    function = case_of(problem, isa).function
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    assembly = tvm.compile(function, target=target).mod.inspect_source("asm")
    loops = re.split(r"\n\.LBB\w+:", assembly)
    products = plan.tiling[0].mr * plan.tiling[0].nr
    counts = [len(re.findall(r"pmaddwd\s|pdpwssd\s", loop)) for loop in loops]
    # LLVM may write two rounds one after the other.
    inner = [
        loop for loop, count in zip(loops, counts, strict=True) if count in (products, 2 * products)
    ]
    assert inner, "no loop has as many products as the plan says"
    for loop in inner:
        body = loop[: loop.index("\tj")]
        stores = [line for line in body.splitlines() if re.search(rf"{register}\d+, .*\(%r", line)]
        assert not stores
