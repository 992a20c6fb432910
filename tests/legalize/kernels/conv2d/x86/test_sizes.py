"""Functions that read a convolution's sizes, and serve others that differ only in these."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
import tvm

from legalize.kernels.border import Border
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage, Residual
from legalize.kernels.conv2d.x86 import plan as plan_module
from legalize.kernels.conv2d.x86.amx.plan import plan as amx
from legalize.kernels.conv2d.x86.dot.plan import plan as dot
from legalize.kernels.conv2d.x86.pairs.plan import plan as pairs
from legalize.kernels.conv2d.x86.plan import Plan, Way
from legalize.kernels.conv2d.x86.sizes import has_inverses, inverse
from legalize.kernels.conv2d.x86.winograd.plan import plan as winograd
from legalize.kernels.isa.base import AffineForm
from legalize.kernels.isa.x86 import AMX, AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, SSE41
from legalize.kernels.kernel import SAME_CODE, Slice
from qnn_ops.dialect.attributes import dtype_range
from tests.support.arrays import full_range
from tests.support.convolutions import SPEC, Problem, changed, check_results, problem_of
from tests.support.kernels import Place, at_x86
from tests.support.unchecked import unchecked
from tests.support.x86 import TARGET, case_of, needs_native_vnni

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
# A convolution that shares a tile of 9 pixels with others.
SHORT = replace(POINTWISE, in_height=6, in_width=6)
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
    # The channels of the last vector are a number: all, some or one.
    "short": (
        dot,
        [
            replace(SHORT, in_channels=112, out_channels=32),
            replace(SHORT, in_channels=40, out_channels=24),
            replace(SHORT, in_height=3, in_width=3, in_channels=52, out_channels=24),
            replace(SHORT, in_height=3, in_width=3, in_channels=40, out_channels=52),
            replace(SHORT, in_channels=24, out_channels=17),
            changed(replace(SHORT, in_channels=24, out_channels=20), part=Slice(84, 48)),
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
            replace(SQUARE, in_channels=48),
            changed(replace(SQUARE, out_channels=96), border=Border((1, 2, 0, 1), 9)),
        ],
    ),
    # Rows touch, so all pixels of a tile read at equal distances.
    "pairs": (
        pairs,
        [
            replace(POINTWISE, in_height=17, in_width=23, in_channels=96, out_channels=128),
            replace(POINTWISE, in_height=15, in_width=17, in_channels=112, out_channels=64),
            changed(
                replace(POINTWISE, in_height=17, in_width=17, in_channels=104, out_channels=64),
                part=Slice(96, 32),
            ),
        ],
    ),
    "windows of pairs": (
        pairs,
        [
            replace(WINDOW, padding=(1, 1, 1, 1)),
            replace(WINDOW, in_height=14, kernel_height=5, padding=(2, 1, 2, 1)),
            replace(WINDOW, in_channels=80, padding=(1, 1, 1, 1), dilation=(1, 2)),
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
    *((dot, replace(SHORT, in_channels=24, out_channels=channels)) for channels in (1, 33, 49)),
    (dot, changed(replace(SHORT, in_channels=24, out_channels=33), border=Border((1, 2, 0, 1), 9))),
    (
        dot,
        changed(
            replace(SHORT, in_channels=24, out_channels=20),
            dtype="int32",
            zero_point=0,
            low=-(2**31),
            high=2**31 - 1,
        ),
    ),
    (winograd, replace(SQUARE, batch=2, in_channels=80, out_channels=72)),
    (pairs, replace(POINTWISE, batch=2, in_channels=20, out_channels=40)),
    (pairs, replace(UINT8, batch=2, in_height=11, strides=(2, 1), in_channels=20)),
]


def problem(spec: ConvSpec, seed: int) -> Problem:
    own = problem_of(replace(spec, fusion=SPEC.fusion), np.random.default_rng(seed))
    return replace(own, spec=replace(own.spec, fusion=spec.fusion))


@at_x86(ISAS)
def test_functions_that_read_sizes_are_the_reference(place: Place) -> None:
    isa = ISAS[place.name]
    every = [(way, spec) for way, specs in ALIKE.values() for spec in specs]
    problems, cases = [], []
    for seed, (way, spec) in enumerate([*every, *OTHERS]):
        given = problem(spec, seed)
        plan = way(given.spec, isa, given.weights, inf)
        if plan is None:
            assert way is winograd or (way is pairs and isa.has_byte_products)
            continue
        given = replace(given, spec=plan.spec)
        problems.append(given)
        cases.append(case_of(plan, given.staged, given.weights))
    check_results(problems, place.run(cases))


@pytest.mark.parametrize("name", ALIKE)
def test_convolutions_of_other_sizes_share_code(name: str) -> None:
    way, specs = ALIKE[name]
    codes, forms, first = set(), set(), None
    for seed, spec in enumerate(specs):
        given = problem(spec, seed)
        plan = way(given.spec, AVX2 if way is pairs else AVX512_VNNI, given.weights, inf)
        assert plan is not None
        assert plan.shares_sizes
        packed = plan.pack(given.weights)
        # Which sequence is exact, and which kinds of K-steps there are, depends on the weights.
        first = first or packed
        known = replace(packed, epilogue=first.epilogue, known=first.known)
        codes.add(plan.function(known).attrs[SAME_CODE])
        forms.add(plan.kernel(known.epilogue, known.known).form)
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


SUM = AffineForm(500, 400, -3000, 10)
RESIDUAL = Residual("uint8", SUM, OutputStage("uint8", 3, 3, 255))
RESIDUALS = [
    RESIDUAL,
    replace(RESIDUAL, dtype="int8", form=AffineForm(3 << 10, 5 << 10, 17, 13)),
    replace(RESIDUAL, form=replace(SUM, below=1)),
    replace(RESIDUAL, output=OutputStage("int8", -5, -128, 100)),
]

# What one change of a convolution draws anew.
FIELDS = [
    *[("batch",), ("in_height",), ("in_width",), ("in_channels",), ("out_channels",), ("strides",)],
    *[("kernel_height", "kernel_width", "padding"), ("dilation",), ("input_zero_point",)],
    *[("output",), ("fusion",)],
]


class Draw:
    """Convolutions with outputs of one dtype."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.dtype = self.one_of("uint8", "uint8", "int8")

    def one_of(self, *values: Any) -> Any:
        return values[self.rng.integers(len(values))]

    def spec(self) -> ConvSpec:
        one_of, (low, high) = self.one_of, dtype_range(self.dtype)
        height, width = one_of((1, 1), (3, 3), (1, 3), (3, 1), (3, 1), (2, 2))
        border = one_of(Border((1, 0, 1, 2), 7), Border((0, 3, 0, 0), 9))
        fusion = one_of({}, {"part": Slice(160, 16)}, {"residual": one_of(*RESIDUALS)})
        if self.dtype == "uint8":
            fusion = one_of(fusion, fusion, {"border": border})
        zero_point = one_of(low, low + 5)
        return changed(
            replace(
                UINT8,
                batch=one_of(1, 1, 1, 2),
                in_height=one_of(12, 13),
                in_width=one_of(12, 13),
                in_channels=one_of(18, 20, 32, 64),
                out_channels=one_of(24, 64, 104, 128),
                kernel_height=height,
                kernel_width=width,
                padding=one_of((0, 0, 0, 0), (height // 2, width // 2) * 2),
                strides=one_of((1, 1), (1, 1), (1, 1), (2, 2)),
                dilation=one_of((1, 1), (1, 1), (1, 1), (2, 2)),
                input_zero_point=one_of(0, 0, 0, 3),
            ),
            dtype=self.dtype,
            zero_point=zero_point,
            low=one_of(low, zero_point),
            high=one_of(high, high, high - 20),
            **fusion,
        )

    def change(self, spec: ConvSpec) -> ConvSpec:
        """Draw one to three fields anew."""
        for _ in range(self.one_of(1, 1, 2, 3)):
            other = self.spec()
            spec = replace(spec, **{name: getattr(other, name) for name in self.one_of(*FIELDS)})
        return spec


def test_equal_forms_have_equal_code(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, built = np.random.default_rng(2), Compared()
    monkeypatch.setattr(plan_module, "BUILT", built)
    epilogues: dict[Any, Any] = {}
    for seed in range(12):
        draw, isa = Draw(rng), (AVX512_VNNI, AVX2, AVX512_VNNI, AVX_VNNI)[seed % 4]
        base = draw.spec()
        for spec in (base, *(draw.change(base) for _ in range(12))):
            given = problem(spec, seed)
            for way in (dot, winograd, pairs, amx):
                plan = way(given.spec, AMX if way is amx else isa, given.weights, inf)
                if plan is None or not plan.shares_sizes:
                    continue
                packed = plan.pack(given.weights)
                # Which sequence is exact depends on the weights.
                key = way, isa, spec.output, spec.fusion.residual is None
                epilogue = epilogues.setdefault(key, packed.epilogue)
                plan.function(replace(packed, epilogue=epilogue))
    assert built.same > 40


def cut_of(size: int, in_channels: int = 256, out_channels: int = 104) -> list[Slice]:
    spec = replace(POINTWISE, in_height=size, in_width=size)
    spec = replace(spec, in_channels=in_channels, out_channels=out_channels)
    given = problem(spec, 0)
    plan = dot(given.spec, AVX512_VNNI, given.weights, inf)
    assert plan is not None
    return [part.spec.target for part, _ in plan.cut(given.weights)]


def test_sections_of_large_layers_are_functions_of_their_own() -> None:
    """Two calls of a small one would take noticeably longer than one."""
    assert cut_of(20) == [Slice(104, 0), Slice(104, 64)]
    assert cut_of(8) == [Slice(104, 0)]


def test_sections_of_short_layers_are_calls_of_shared_functions() -> None:
    assert cut_of(6, 112, 72) == [Slice(72, 0), Slice(72, 48)]


def written(parts: Sequence[tuple[Plan, Weights]], inputs: Sequence[Any], added: Any) -> Any:
    """Run convolutions of the same data in order on one output."""
    spec = parts[0][0].spec
    output = tvm.runtime.tensor(np.full(spec.target_shape, 0xA5, np.uint8))
    for plan, weights in parts:
        packed = plan.pack(weights)
        function = plan.function(packed).with_attr("global_symbol", "f")
        with unchecked(function):
            library = tvm.compile(tvm.IRModule({"f": function}), target=tvm.target.Target(TARGET))
        arguments = map(np.ascontiguousarray, [*inputs, *packed.constants, *added])
        library["f"](*map(tvm.runtime.tensor, arguments), output)
    return output.numpy()


@needs_native_vnni
@pytest.mark.parametrize(
    "fusion",
    [{"border": Border((1, 2, 0, 1), 9)}, {"residual": RESIDUAL}, {"part": Slice(160, 16)}],
    ids=["border", "residual", "part"],
)
def test_parts_write_the_whole_in_order(fusion: dict[str, Any]) -> None:
    spec = replace(POINTWISE, in_height=20, in_width=20, in_channels=256, out_channels=104)
    given = problem(changed(spec, **fusion), 0)
    added = []
    if "residual" in fusion:
        added = [full_range(np.random.default_rng(1), RESIDUAL.dtype, given.spec.out_shape)]
    plan = dot(given.spec, AVX512_VNNI, given.weights, inf)
    alone = dot(changed(given.spec, is_shared=False), AVX512_VNNI, given.weights, inf)
    assert plan is not None
    assert alone is not None
    parts = plan.cut(given.weights)
    assert len(parts) == 2
    results = [written(each, [given.staged], added) for each in (parts, [(alone, given.weights)])]
    np.testing.assert_array_equal(*results)
    assert np.unique(results[0]).size > 20


def test_large_images_divide() -> None:
    small = replace(UINT8, in_height=900, in_width=1000)
    assert has_inverses(small)
    assert not has_inverses(replace(small, in_height=1_100_000))
    for size in (1, 2, 3, 7, 1000, 1021):
        numbers = np.arange(0, (1 << 30) // size, 997)
        numbers = np.concatenate([numbers, numbers // size * size, numbers // size * size - 1])
        numbers = numbers[numbers >= 0]
        assert ((numbers * inverse(size)) >> 30 == numbers // size).all()
