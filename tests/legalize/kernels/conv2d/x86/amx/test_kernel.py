from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi

from legalize.kernels.conv2d.spec import ConvSpec, Fusion, OutputStage, Residual
from legalize.kernels.conv2d.x86.amx.plan import WIDTHS, TilePlan, cut, cut_to_width
from legalize.kernels.isa.base import AffineForm
from legalize.kernels.kernel import WRITES_OVER
from tests.support.convolutions import SPEC, Problem, changed, problem_of, random_problem
from tests.support.tiles import use_soft_tiles
from tests.support.x86 import TARGET, host_has, needs_native_vnni, run_on

SAPPHIRE_RAPIDS = "sapphirerapids"
NARROWING = "vpackuswb"


def larger(problem: Problem, rng: np.random.Generator) -> Problem:
    """Return a convolution with more pixels and channels: several tiles."""
    spec = problem.spec
    spec = replace(
        spec,
        in_height=spec.in_height + int(rng.integers(0, 20)),
        in_width=spec.in_width + int(rng.integers(0, 20)),
        in_channels=int(rng.choice([1, 3, 16, 31, 64, 65, 80, 130, 200])),
        out_channels=int(rng.choice([1, 8, 16, 17, 32, 33, 48, 80])),
    )
    how = str(rng.choice(["random", "ends", "min", "max"]))
    return problem_of(spec, rng, how=how, kernel_zero_point=problem.kernel_zero_point)


def problems(seed: int, count: int) -> list[Problem]:
    rng = np.random.default_rng(seed)
    drawn = []
    for number in range(count):
        problem = random_problem(rng, ("tflite", "upward", "float32"))
        problem = larger(problem, rng) if number % 2 else problem
        drawn.append(replace(problem, spec=replace(problem.spec, staged_dtype="uint8")))
    return drawn


def problems_down(seed: int) -> list[Problem]:
    """Return convolutions whose last columns tiles take down: wide, strided, of a batch."""
    rng = np.random.default_rng(seed)
    wide = replace(SPEC, in_height=17, in_width=17, in_channels=32, out_channels=33)
    wide = replace(wide, kernel_height=1, kernel_width=7, padding=(0, 3, 0, 3))
    wide = replace(wide, staged_dtype="uint8")
    strided = replace(wide, in_height=37, in_width=37, padding=(0, 0, 0, 0), strides=(2, 2))
    specs = [
        wide,
        replace(strided, kernel_height=3, kernel_width=3),
        replace(wide, batch=2, in_height=20, in_width=35, kernel_width=15, padding=(0, 7, 0, 7)),
    ]
    return [problem_of(spec, rng) for spec in specs]


def pointwise(in_channels: int, out_channels: int) -> Problem:
    """Return a 1 × 1 convolution of 9 × 9 pixels."""
    spec = replace(
        SPEC, in_height=9, in_width=9, in_channels=in_channels, out_channels=out_channels
    )
    spec = replace(spec, kernel_height=1, kernel_width=1, in_dtype="uint8", staged_dtype="uint8")
    spec = changed(spec, dtype="uint8", zero_point=3, low=0, high=255)
    return problem_of(spec, np.random.default_rng(0), exponent=-9)


def arguments(problem: Problem, plan: TilePlan) -> tuple[Any, list[Any]]:
    """Return the function and its inputs."""
    packed = plan.pack(problem.weights)
    function = plan.kernel(packed.epilogue, None).build()
    return function, [problem.staged, *packed.constants]


def check(problem: Problem, mcpu: str, nr: int) -> TilePlan:
    spec: ConvSpec = problem.spec
    plan = cut_to_width(spec, nr)
    function, inputs = arguments(problem, plan)
    got = run_on(mcpu, function, inputs, spec.out_shape, spec.output.dtype)
    np.testing.assert_array_equal(got, problem.result, err_msg=f"{spec}\n{plan}")
    return plan


def test_sums_equal_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    use_soft_tiles(monkeypatch)
    kinds = set()
    for number, problem in enumerate(problems(seed=3, count=12)):
        spec = changed(problem.spec, dtype="int32", low=-(2**31), high=2**31 - 1)
        spec = changed(spec, zero_point=0, has_asymmetric_kernel=False)
        plain = replace(problem, spec=spec, kernel_zero_point=128 * (spec.kernel_dtype == "uint8"))
        plan = check(plain, "haswell", nr=WIDTHS[number % 3])
        shape = max((plan.tiles_at_once(part), part.nr) for part in plan.tiling)
        kinds.add((plan.lines > 1, plan.real_pixels < plan.row_pixels, shape))
    # Of one stretch and of several, with and without pixels for nothing, in turns of other shapes.
    assert len(kinds) >= 6


@needs_native_vnni
def test_outputs_of_emulated_tiles_equal_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    use_soft_tiles(monkeypatch)
    for number, problem in enumerate(problems(seed=2, count=9)):
        check(problem, "cascadelake", nr=WIDTHS[number % 3])


@needs_native_vnni
def test_outputs_of_emulated_tiles_down_the_image_equal_the_definition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_soft_tiles(monkeypatch)
    for number, problem in enumerate(problems_down(seed=2)):
        assert check(problem, "cascadelake", nr=WIDTHS[number % 3]).columns > 0


@pytest.mark.skipif(not host_has("amx_int8", "amx_tile"), reason="the processor has no AMX")
def test_outputs_equal_the_definition() -> None:
    for number, problem in enumerate([*problems(seed=2, count=60), *problems_down(seed=2)]):
        check(problem, SAPPHIRE_RAPIDS, nr=WIDTHS[number % 3])


@pytest.mark.parametrize(("nr", "loads"), [(4, 5), (2, 4), (1, 5)])
def test_a_turn_has_four_products_a_chunk(nr: int, loads: int) -> None:
    problem = pointwise(in_channels=128, out_channels=64)
    plan = cut_to_width(problem.spec, nr)
    (section,) = plan.tiling
    assert (plan.tiles, plan.rows, plan.chunk, plan.chunks) == (6, 14, 64, 2)
    assert (plan.tiles_at_once(section), section.nr) == (4 // nr, nr)
    text = arguments(problem, plan)[0].script()
    # One loop over all turns; each tile of sums begins with the bias.
    assert text.count("tdpbusd") == 4
    assert text.count("tileloadd") == loads + 4
    assert text.count("ldtilecfg") == text.count("tilerelease") == 1
    # Between products, and after the last turn.
    assert text.count("tilestored") == 2 * 4


def test_outputs_are_stored_between_products() -> None:
    problem = pointwise(in_channels=512, out_channels=64)
    names = instructions(arguments(problem, cut_to_width(problem.spec, 2))[0])
    order = [name for name, _ in groupby(names) if name in ("tdpbusd", NARROWING)]
    # Two slots a chunk; LLVM may let the second one run into the end of the function.
    assert [name for name, _ in groupby(order)].count(NARROWING) >= 2


@pytest.mark.parametrize(("nr", "pixels"), [(4, 1), (2, 2), (1, 4)])
def test_four_vectors_are_narrowed_to_one(nr: int, pixels: int) -> None:
    problem = pointwise(in_channels=128, out_channels=64)
    names = instructions(arguments(problem, cut_to_width(problem.spec, nr))[0])
    assert names.count("vpackssdw") == 2 * names.count("vpackuswb") > 0
    permutations = sum(name in ("vpermq", "vpermd") for name in names)
    assert permutations == (pixels > 1) * pixels * names.count("vpackuswb")
    assert not [name for name in names if name.startswith("vpmovu")]


def test_convolutions_share_a_function_that_reads_their_sizes() -> None:
    def built(side: int, channels: int, out_channels: int, **changes: Any) -> Any:
        spec = replace(pointwise(channels, out_channels).spec, in_height=side, in_width=side)
        spec = replace(spec, fusion=Fusion(is_shared=True), **changes)
        problem = problem_of(spec, np.random.default_rng(side), exponent=-9)
        plan = cut_to_width(spec, 2)
        assert plan.shares_sizes
        packed = plan.pack(problem.weights)
        return plan.function(packed), problem, packed

    function, *first = built(17, 512, 256)
    # Another number of pixels, chunks, blocks and taps; rows of other lengths.
    wide = {"kernel_height": 3, "strides": (2, 2), "padding": (1, 0, 1, 0)}
    other, *second = built(33, 192, 128, **wide)
    assert tvm_ffi.structural_equal(function, other)
    for problem, packed in (first, second) if host_has("amx_int8", "amx_tile") else ():
        inputs = [problem.staged, *packed.constants]
        got = run_on(SAPPHIRE_RAPIDS, function, inputs, problem.spec.out_shape, "uint8")
        np.testing.assert_array_equal(got, problem.result)


@pytest.mark.parametrize("nr", [1, 2])
def test_weights_of_the_next_block_are_fetched_however_few_turns_a_block_has(nr: int) -> None:
    problem = pointwise(in_channels=128, out_channels=64)
    plan = cut_to_width(replace(problem.spec, in_height=7, in_width=7), nr)
    (section,) = plan.tiling
    assert plan.turns_of_block(section) == nr
    problem = problem_of(plan.spec, np.random.default_rng(0))
    names = instructions(arguments(problem, plan)[0])
    assert names.count("prefetcht1") > 0


def instructions(function: Any) -> list[str]:
    """Return the names of a function's instructions."""
    target = tvm.target.Target({"kind": "llvm", "mcpu": SAPPHIRE_RAPIDS})
    lines = tvm.compile(function, target=target).mod.inspect_source("asm").splitlines()
    return [line.split()[0] for line in lines if line.strip()]


def test_tasks_ask_for_tiles_of_their_own() -> None:
    (problem,) = problems(seed=4, count=1)
    spec = replace(problem.spec, batch=8, in_height=64, in_width=64, in_channels=64)
    problem = problem_of(replace(spec, out_channels=128), np.random.default_rng(0))
    function, _ = arguments(problem, cut(problem.spec))
    text = function.script()
    body = text[text.index("T.parallel(") :]
    assert body.index("llvm.x86.ldtilecfg") < body.index("llvm.x86.tilerelease")


def with_residual(side: int, channels: int, out_channels: int) -> Problem:
    """Return a 1 × 1 convolution to which a tensor is added."""
    spec = replace(pointwise(channels, out_channels).spec, in_height=side, in_width=side)
    form = AffineForm(lhs=700_000, rhs=500_000, addend=1 << 18, shift=20)
    residual = Residual("uint8", form, OutputStage("uint8", 0, 0, 255))
    spec = replace(spec, fusion=Fusion(residual=residual))
    return problem_of(spec, np.random.default_rng(0), exponent=-9)


@pytest.mark.parametrize(
    ("side", "channels", "nr", "is_over"),
    [
        (8, 64, 4, True),
        (8, 128, 2, True),
        # 9 · 9 pixels are six tiles of 14, the last of which has some of another, too.
        (9, 64, 4, False),
        # Three tiles, two at once.
        (6, 64, 2, False),
    ],
)
def test_outputs_may_lie_over_the_tensor_that_is_added_if_each_is_computed_once(
    side: int, channels: int, nr: int, is_over: bool
) -> None:
    problem = with_residual(side, channels, out_channels=64)
    function, _ = arguments(problem, cut_to_width(problem.spec, nr))
    assert (WRITES_OVER in function.attrs) == is_over
    if is_over:
        names = [parameter.name for parameter in function.params]
        assert "addend" in names[int(function.attrs[WRITES_OVER])]


@needs_native_vnni
@pytest.mark.parametrize(("side", "channels", "nr"), [(8, 64, 4), (8, 512, 4), (16, 128, 2)])
def test_sums_over_the_tensor_that_is_added_are_the_same(
    monkeypatch: pytest.MonkeyPatch, side: int, channels: int, nr: int
) -> None:
    use_soft_tiles(monkeypatch)
    problem = with_residual(side, channels, out_channels=128)
    function, inputs = arguments(problem, cut_to_width(problem.spec, nr))
    assert WRITES_OVER in function.attrs
    tensor = np.random.default_rng(1).integers(0, 256, problem.spec.out_shape, np.uint8)
    apart = run_on(
        "cascadelake", function, [*inputs, tensor.copy()], problem.spec.out_shape, "uint8"
    )
    target = tvm.target.Target({**TARGET, "mcpu": "cascadelake"})
    library = tvm.compile(function, target=target)
    over = tvm.runtime.tensor(tensor)
    arrays = [tvm.runtime.tensor(np.asarray(array, order="C")) for array in inputs]
    library[function.attrs["global_symbol"]](*arrays, over, over)
    np.testing.assert_array_equal(over.numpy(), apart)
    assert len(np.unique(apart)) > 20
