from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from legalize.kernels.conv2d.arm.pack import pack_conv2d
from legalize.kernels.conv2d.calls import fixed_point
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.isa.arm import ARMV7, DOTPROD, I8MM, NEON, Isa
from tests.support.arm import (
    CORTEX_A15,
    CORTEX_A72,
    CORTEX_A76,
    MAX,
    Core,
    each_core,
    run_cases,
)
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

ISAS = {CORTEX_A72: NEON, CORTEX_A76: DOTPROD, MAX: I8MM, CORTEX_A15: ARMV7}
ROUNDINGS = {
    isa: ("tflite", "tflite", "upward", *(() if isa is ARMV7 else ("float32", "float64")))
    for isa in ISAS.values()
}


def case_of(isa: Isa, problem: Problem) -> Case:
    """Return the call that solves a problem."""
    return problem.case(pack_conv2d(problem.spec, problem.weights, isa), problem.staged)


def check(core: Core, problems: list[Problem]) -> None:
    isa = ISAS[core]
    fitting = [
        problem
        for problem in problems
        if problem.spec.run_length >= isa.depth and problem.spec.out_pixels >= isa.pixels
    ]
    assert len(fitting) > len(problems) / 3
    check_results(fitting, run_cases(core, [case_of(isa, problem) for problem in fitting]))


@each_core
def test_equals_the_definition(core: Core) -> None:
    rng = np.random.default_rng(5)
    check(core, [random_problem(rng, ROUNDINGS[ISAS[core]]) for _ in range(12)])


@each_core
def test_any_number_of_channels(core: Core) -> None:
    rng = np.random.default_rng(6)
    small = replace(SPEC, in_height=3, in_width=4, kernel_height=1, kernel_width=1)
    specs = [replace(small, in_channels=count, out_channels=20) for count in (4, 9, 15, 21, 31)]
    specs += [
        changed(small, out_channels=count, dtype=dtype, low=low, high=high)
        for count in (1, 6, 11, 22)
        for dtype, low, high in (("int8", -128, 127), ("int32", -(2**31), 2**31 - 1))
    ]
    check(core, [problem_of(spec, rng) for spec in specs])


@each_core
@pytest.mark.parametrize("zero_point", [0, 255])
def test_the_largest_sums_are_exact(core: Core, zero_point: int) -> None:
    """No sum of two products overflows 16 bits for any weights, even if all are −128."""
    spec = changed(
        SPEC,
        in_channels=150,
        in_dtype="uint8",
        input_zero_point=255 - zero_point,
        kernel_dtype="uint8",
        dtype="int32",
        out_channels=4,
    )
    rng = np.random.default_rng(7)
    ways = ("min", "max", "ends")
    check(core, [problem_of(spec, rng, how=how, kernel_zero_point=zero_point) for how in ways])


@each_core
def test_work_is_shared_out(core: Core) -> None:
    """Enough for several tasks, of two kinds of blocks."""
    spec = replace(
        SPEC,
        in_height=16,
        in_width=18,
        in_channels=40,
        out_channels=60,
        batch=2,
        kernel_dtype="uint8",
    )
    problem = problem_of(spec, np.random.default_rng(8), kernel_zero_point=3)
    assert "T.parallel" in str(case_of(ISAS[core], problem).function)
    check(core, [problem])


@pytest.mark.parametrize(
    ("isa", "core", "product"),
    [
        (NEON, CORTEX_A72, "smull"),
        (DOTPROD, CORTEX_A76, "sdot"),
        (I8MM, MAX, "smmla"),
        (ARMV7, CORTEX_A15, "vmull.s8"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
@pytest.mark.parametrize(("kernel", "channels"), [((3, 3), 64), ((1, 1), 320)])
def test_accumulators_stay_in_registers(
    isa: Isa, core: Core, product: str, kernel: tuple[int, int], channels: int
) -> None:
    """The inner loop loads data and weights, multiplies, and stores nothing."""
    height, width = kernel
    spec = replace(
        SPEC,
        in_height=13 + height,
        in_width=13 + width,
        kernel_height=height,
        kernel_width=width,
        in_channels=channels,
        out_channels=channels,
    )
    weights: Any = np.ones((channels, height, width, channels), np.int8)
    constants = Weights(weights, 0, None, *fixed_point(spec, np.array(0.01)))
    function = pack_conv2d(spec, constants, isa).build()
    loops = inner_loops(assembly_of(core, function), product)
    assert loops
    for loop in loops:
        assert not [words for words in loop if words[0].startswith(("st", "vst"))]
        others = {"sdot", "smmla", "smull"} - {product}
        assert not others & {words[0] for words in loop}
        if product == "smmla":
            # One zip makes an operand, not a move and an insertion.
            assert not [words for words in loop if words[0] == "mov"]
