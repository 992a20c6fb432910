"""Functions that read a convolution's sizes, and serve others that differ only in these."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from legalize.kernels.border import Border
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86 import plan as plan_module
from legalize.kernels.conv2d.x86.dot.plan import plan as dot
from legalize.kernels.conv2d.x86.plan import Way
from legalize.kernels.conv2d.x86.sizes import has_inverses, inverse
from legalize.kernels.conv2d.x86.winograd.plan import plan as winograd
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, SSE41
from legalize.kernels.kernel import SAME_CODE, Slice
from tests.support.convolutions import SPEC, Problem, changed, problem_of
from tests.support.kernels import Place, at_x86
from tests.support.programs import Case

ISAS = {isa.name: isa for isa in (AVX512_VNNI, AVX512BW, AVX2, SSE41)}
UINT8 = changed(
    SPEC,
    in_dtype="uint8",
    staged_dtype="uint8",
    dtype="uint8",
    zero_point=0,
    low=0,
    high=255,
    is_shared=True,
)
POINTWISE = replace(UINT8, kernel_height=1, kernel_width=1)
# Its tiles have 4 vectors and 6 pixels, which are in two rows at times.
WINDOW = replace(
    UINT8, in_height=13, in_width=13, in_channels=64, out_channels=128, input_zero_point=0
)
COLUMNS = replace(UINT8, kernel_height=1, padding=(0, 1, 0, 1), in_channels=32)
SQUARE = replace(UINT8, in_height=20, in_width=20, in_channels=32, out_channels=32)

# A way, and convolutions whose functions are one.
ALIKE: dict[str, tuple[Way, list[ConvSpec]]] = {
    "pointwise": (
        dot,
        [
            replace(POINTWISE, in_height=30, in_width=30, in_channels=64, out_channels=64),
            replace(POINTWISE, in_height=30, in_width=36, in_channels=96, out_channels=128),
            changed(
                replace(POINTWISE, in_height=24, in_width=35, in_channels=192, out_channels=64),
                part=Slice(96, 32),
            ),
        ],
    ),
    # The rest of the channels is a section of one block.
    "sections": (
        dot,
        [
            replace(POINTWISE, in_height=24, in_width=24, in_channels=64, out_channels=104),
            replace(POINTWISE, in_height=24, in_width=24, in_channels=64, out_channels=168),
        ],
    ),
    "windows": (
        dot,
        [
            replace(WINDOW, in_height=27, in_width=27, strides=(2, 2)),
            replace(WINDOW, in_height=29, in_width=27, in_channels=128, strides=(2, 2)),
            replace(WINDOW, kernel_height=5, kernel_width=1, padding=(2, 0, 2, 0)),
            replace(WINDOW, kernel_height=1, kernel_width=5, padding=(0, 2, 0, 2)),
            changed(
                replace(WINDOW, kernel_height=1, kernel_width=5, padding=(0, 2, 0, 2)),
                border=Border((1, 2, 0, 1), 9),
            ),
        ],
    ),
    "Winograd": (
        winograd,
        [
            SQUARE,
            replace(SQUARE, out_channels=64),
            changed(replace(SQUARE, out_channels=96), border=Border((1, 2, 0, 1), 9)),
        ],
    ),
}

# Other forms of code that read sizes.
OTHERS: list[tuple[Way, ConvSpec]] = [
    (dot, replace(POINTWISE, batch=2, in_channels=20, out_channels=40)),
    (dot, replace(UINT8, batch=2, in_height=11, strides=(2, 1), in_channels=20)),
    (dot, replace(UINT8, in_height=40, in_width=41, dilation=(2, 3), in_channels=12)),
    (dot, replace(COLUMNS, in_width=9)),
    (dot, replace(COLUMNS, batch=2, in_height=7, in_width=6, out_channels=96)),
    (winograd, replace(SQUARE, batch=2, in_channels=80, out_channels=72)),
]


def problem(spec: ConvSpec, seed: int) -> Problem:
    own = problem_of(replace(spec, fusion=SPEC.fusion), np.random.default_rng(seed))
    return replace(own, spec=replace(own.spec, fusion=spec.fusion))


def expected(given: Problem) -> Any:
    """Return the result in the tensor that is written; parts leave the rest 0."""
    fusion, result = given.spec.fusion, given.result
    if fusion.border is not None:
        top, left, bottom, right = fusion.border.widths
        widths = (0, 0), (top, bottom), (left, right), (0, 0)
        return np.pad(result, widths, constant_values=fusion.border.value)
    if fusion.part is None:
        return result
    first, whole = fusion.part.first, fusion.part.whole
    last = whole - first - result.shape[-1]
    return np.pad(result, ((0, 0), (0, 0), (0, 0), (first, last)))


@at_x86(ISAS)
def test_functions_that_read_sizes_are_the_reference(place: Place) -> None:
    isa = ISAS[place.name]
    every = [(way, spec) for way, specs in ALIKE.values() for spec in specs]
    wanted, cases = [], []
    for seed, (way, spec) in enumerate([*every, *OTHERS]):
        given = problem(spec, seed)
        plan = way(given.spec, isa, given.weights, inf)
        if plan is None:
            assert way is winograd
            continue
        packed = plan.pack(given.weights)
        inputs = [replace(given, spec=plan.spec).staged, *packed.constants]
        shape, dtype = plan.spec.target_shape, plan.spec.output.dtype
        cases.append(Case(plan.function(packed), inputs, shape, dtype))
        wanted.append((plan.spec, expected(given)))
    for result, (spec, value) in zip(place.run(cases), wanted, strict=True):
        part = spec.target
        own = slice(part.first, part.first + spec.out_channels)
        np.testing.assert_array_equal(result[..., own], value[..., own])


@pytest.mark.parametrize("name", ALIKE)
def test_convolutions_of_other_sizes_share_code(name: str) -> None:
    way, specs = ALIKE[name]
    codes, forms, epilogue = set(), set(), None
    for seed, spec in enumerate(specs):
        given = problem(spec, seed)
        plan = way(given.spec, AVX512_VNNI, given.weights, inf)
        assert plan is not None
        assert plan.shares_sizes
        packed = plan.pack(given.weights)
        # Which sequence is exact depends on the weights.
        epilogue = epilogue or packed.epilogue
        function = plan.function(replace(packed, epilogue=epilogue))
        codes.add(function.attrs[SAME_CODE])
        forms.add(plan.kernel(epilogue, packed.known).form)
    assert len(codes) == 1
    assert len(forms) == 1


class Compared(dict[Any, Any]):
    """Functions by their forms: each is written, and compared with the earlier one of its form."""

    same = 0

    def __contains__(self, form: object) -> bool:
        return False

    def __setitem__(self, form: Any, function: Any) -> None:
        code = function.attrs[SAME_CODE]
        earlier = self.setdefault(form, function)
        assert earlier.attrs[SAME_CODE] == code
        self.same += earlier is not function


def drawn(rng: np.random.Generator) -> ConvSpec:
    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    height, width = one_of((1, 1), (3, 3), (3, 3), (1, 3), (3, 1), (2, 2))
    fusion = one_of({}, {"border": Border((1, 0, 1, 2), 7)}, {"part": Slice(160, 16)})
    return changed(
        replace(
            UINT8,
            batch=one_of(1, 1, 1, 2),
            in_height=one_of(12, 13),
            in_width=one_of(12, 13),
            in_channels=one_of(18, 32, 64),
            out_channels=one_of(24, 64, 128),
            kernel_height=height,
            kernel_width=width,
            padding=one_of((0, 0, 0, 0), (height // 2, width // 2) * 2),
            strides=one_of((1, 1), (1, 1), (1, 1), (2, 2)),
            dilation=one_of((1, 1), (1, 1), (1, 1), (2, 2)),
            input_zero_point=one_of(0, 0, 0, 3),
        ),
        zero_point=one_of(0, 5),
        **fusion,
    )


def test_equal_forms_have_equal_code(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, built = np.random.default_rng(0), Compared()
    monkeypatch.setattr(plan_module, "BUILT", built)
    epilogue = None
    for seed in range(150):
        given = problem(drawn(rng), seed)
        ways = (way(given.spec, AVX512_VNNI, given.weights, inf) for way in (dot, winograd))
        for plan in ways:
            if plan is not None and plan.shares_sizes:
                packed = plan.pack(given.weights)
                epilogue = epilogue or packed.epilogue
                plan.function(replace(packed, epilogue=epilogue))
    assert built.same > 20


def cut_of(size: int) -> list[Slice]:
    given = problem(
        replace(POINTWISE, in_height=size, in_width=size, in_channels=256, out_channels=104), 0
    )
    plan = dot(given.spec, AVX512_VNNI, given.weights, inf)
    assert plan is not None
    return [part.spec.target for part, _ in plan.cut(given.weights)]


def test_sections_of_large_layers_are_functions_of_their_own() -> None:
    """Two calls of a small one would take noticeably longer than one."""
    assert cut_of(20) == [Slice(104, 0), Slice(104, 64)]
    assert cut_of(8) == [Slice(104, 0)]


def test_large_images_divide() -> None:
    small = replace(UINT8, in_height=900, in_width=1000)
    assert has_inverses(small)
    assert not has_inverses(replace(small, in_height=1_100_000))
    for size in (1, 2, 3, 7, 1000, 1021):
        numbers = np.arange(0, (1 << 30) // size, 997)
        numbers = np.concatenate([numbers, numbers // size * size, numbers // size * size - 1])
        numbers = numbers[numbers >= 0]
        assert ((numbers * inverse(size)) >> 30 == numbers // size).all()
