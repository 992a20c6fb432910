"""The output pixels of a tile, and where they lie in the tensor that is written."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from legalize.kernels.border import Border
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.dot.plan import plan as dot
from legalize.kernels.conv2d.x86.plan import Way
from legalize.kernels.conv2d.x86.winograd.plan import plan as winograd
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, SSE41
from legalize.kernels.kernel import SAME_CODE, Slice
from tests.support.convolutions import SPEC, changed, check_results, problem_of
from tests.support.kernels import Place, at_x86
from tests.support.x86 import case_of

ISAS = {isa.name: isa for isa in (AVX512_VNNI, AVX512BW, AVX2, SSE41)}
FUSIONS: list[tuple[int, int, dict[str, Any]]] = [
    # Images, channels, and widths that are none, odd, or more than the output has.
    (2, 37, {"border": Border((1, 1, 1, 1), 200)}),
    (1, 64, {"border": Border((0, 3, 0, 3), 0)}),
    (1, 20, {"border": Border((5, 0, 2, 0), 255)}),
    (2, 16, {"border": Border((0, 2, 1, 0), 7)}),
    # Channels of a larger tensor: odd ones, and whole vectors.
    (1, 37, {"part": Slice(61, 5)}),
    (1, 64, {"part": Slice(96, 32)}),
    (1, 24, {"part": Slice(24, 0)}),
]


@at_x86(ISAS)
@pytest.mark.parametrize("is_shared", [False, True])
def test_outputs_have_their_border_or_are_a_part(place: Place, *, is_shared: bool) -> None:
    isa = ISAS[place.name]
    uint8 = changed(SPEC, in_dtype="uint8", staged_dtype="uint8", dtype="uint8")
    uint8 = changed(uint8, zero_point=9, low=3, high=250)
    problems, cases = [], []
    for number, (images, channels, fusion) in enumerate(FUSIONS):
        # The first one is shared among threads, if there are several.
        height = 40 if number == 0 else 6
        spec = replace(uint8, batch=images, in_height=height, out_channels=channels)
        problem = problem_of(spec, np.random.default_rng(number))
        spec = changed(problem.spec, **fusion, is_shared=is_shared)
        plan = dot_plan(spec, isa)
        problems.append(replace(problem, spec=spec))
        cases.append(case_of(plan, problem.data, problem.weights))
    check_results(problems, place.run(cases))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"border": Border((1, 1, 1, 1), 7)}, {"border": Border((0, 3, 0, 2), 7)}),
        ({"part": Slice(96, 32)}, {"part": Slice(40, 8)}),
    ],
    ids=["borders", "parts"],
)
@pytest.mark.parametrize("way", [dot, winograd], ids=["dot", "Winograd"])
def test_outputs_of_several_tensors_share_code(
    way: Way, first: dict[str, Any], second: dict[str, Any]
) -> None:
    spec = changed(SPEC, in_dtype="uint8", staged_dtype="uint8", dtype="uint8")
    spec = replace(spec, in_height=20, in_width=20, in_channels=64, out_channels=32)
    problem = problem_of(spec, np.random.default_rng(0))
    codes = []
    for fusion in (first, second):
        spec = changed(problem.spec, **fusion, is_shared=True)
        plan = way(spec, AVX512_VNNI, problem.weights, inf)
        assert plan is not None
        function = plan.function(plan.pack(problem.weights))
        codes.append(function.attrs[SAME_CODE])
    assert codes[0] == codes[1]
