"""Convolutions whose output is some channels of a larger tensor."""

from dataclasses import replace

import numpy as np

from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, SSE41
from legalize.kernels.kernel import Slice
from tests.support.convolutions import SPEC, changed, problem_of
from tests.support.kernels import Place, at_x86
from tests.support.programs import Case

ISAS = {isa.name: isa for isa in (AVX512_VNNI, AVX512BW, AVX2, SSE41)}
PARTS = [
    # Channels of the convolution, and where they are: odd ones, and whole vectors.
    (37, Slice(61, 5)),
    (64, Slice(96, 32)),
    (24, Slice(24, 0)),
]


@at_x86(ISAS)
def test_only_the_channels_of_the_part_are_written(place: Place) -> None:
    isa = ISAS[place.name]
    problems, cases = [], []
    for channels, part in PARTS:
        spec = replace(SPEC, in_dtype="uint8", staged_dtype="uint8", out_channels=channels)
        problem = problem_of(spec, np.random.default_rng(channels))
        spec = changed(problem.spec, part=part)
        plan = dot_plan(spec, isa)
        packed = plan.pack(problem.weights)
        function = plan.function(packed)
        inputs = [problem.data, *packed.constants]
        problems.append(problem)
        cases.append(Case(function, inputs, spec.target_shape, spec.output.dtype))
    results = place.run(cases)
    for problem, (channels, part), result in zip(problems, PARTS, results, strict=True):
        channels_of = slice(part.first, part.first + channels)
        np.testing.assert_array_equal(result[..., channels_of], problem.result)
        rest = np.delete(result, np.r_[channels_of], axis=-1)
        assert np.unique(rest).size <= 1, "written beside the part"
