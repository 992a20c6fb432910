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
from tests.support.convolutions import SPEC, changed, problem_of
from tests.support.kernels import Place, at_x86
from tests.support.programs import Case

ISAS = {isa.name: isa for isa in (AVX512_VNNI, AVX512BW, AVX2, SSE41)}
BORDERS = [
    # Images, channels, and widths that are none, odd, or more than the output has.
    (2, 37, Border((1, 1, 1, 1), 200)),
    (1, 64, Border((0, 3, 0, 3), 0)),
    (1, 20, Border((5, 0, 2, 0), 255)),
    (2, 16, Border((0, 2, 1, 0), 7)),
]


@at_x86(ISAS)
@pytest.mark.parametrize("is_shared", [False, True])
def test_outputs_have_their_border(place: Place, *, is_shared: bool) -> None:
    isa = ISAS[place.name]
    uint8 = changed(SPEC, in_dtype="uint8", staged_dtype="uint8", dtype="uint8")
    uint8 = changed(uint8, zero_point=9, low=3, high=250)
    expected, cases = [], []
    for number, (images, channels, border) in enumerate(BORDERS):
        # The first one is shared among threads, if there are several.
        height = 40 if number == 0 else 6
        spec = replace(uint8, batch=images, in_height=height, out_channels=channels)
        problem = problem_of(spec, np.random.default_rng(number))
        spec = changed(problem.spec, border=border, is_shared=is_shared)
        plan = dot_plan(spec, isa)
        packed = plan.pack(problem.weights)
        function = plan.function(packed)
        inputs = [problem.data, *packed.constants]
        top, left, bottom, right = border.widths
        widths = (0, 0), (top, bottom), (left, right), (0, 0)
        expected.append(np.pad(problem.result, widths, constant_values=border.value))
        cases.append(Case(function, inputs, spec.target_shape, spec.output.dtype))
    for result, wanted in zip(place.run(cases), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


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
