from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from legalize.kernels.conv2d.mcu.epilogue import Epilogue
from legalize.kernels.conv2d.mcu.kernel import (
    Tile,
    choose_tile,
    conv2d,
    join,
    packed_rows,
    unpacks_anew,
)
from legalize.kernels.conv2d.mcu.rules import plan_conv2d
from legalize.kernels.conv2d.plan import Ready
from legalize.kernels.rescale import Form
from tests.support import mcu
from tests.support.convolutions import (
    SPEC,
    Problem,
    changed,
    check_results,
    problem_of,
    random_problem,
)
from tests.support.x86 import run_cases, run_on
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target

POINTWISE = replace(SPEC, kernel_height=1, kernel_width=1)


def with_pairs(problem: Problem) -> Ready | None:
    return plan_conv2d(problem.spec, problem.weights, has_pairs=True)


def planned(problem: Problem, *, has_pairs: bool = False) -> Ready:
    plan = plan_conv2d(problem.spec, problem.weights, has_pairs=has_pairs)
    assert plan is not None
    return plan


def check(problem: Problem, plan: Ready) -> None:
    case = problem.case(plan)
    check_results([problem], run_cases("nehalem", [case]))


def test_equals_the_definition() -> None:
    rng = np.random.default_rng(1)
    served = 0
    for _ in range(100):
        problem = random_problem(rng, ("tflite", "upward", "float64"))
        plan = plan_conv2d(problem.spec, problem.weights, has_pairs=False)
        if plan is not None:
            check(problem, plan)
            served += 1
    assert served > 10


@pytest.mark.parametrize("spec", [SPEC, POINTWISE])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_windows_and_single_pixels(spec: object, dtype: str) -> None:
    assert isinstance(spec, type(SPEC))
    spec = replace(spec, in_dtype=dtype, padding=(1, 0, 1, 1), strides=(2, 1))
    problem = problem_of(spec, np.random.default_rng(2))
    check(problem, planned(problem))


@pytest.mark.parametrize("left", [np.array([1]), np.arange(24) % 3])
@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("signs", [1, 2])
@pytest.mark.parametrize("multipliers", [1, 24])
def test_every_kind_of_form_is_computed_as_numpy_does(
    left: np.ndarray, signs: int, multipliers: int, *, is_wide: bool
) -> None:
    problem = problem_of(POINTWISE, np.random.default_rng(3))
    dtype, scale = (np.int64, 1 << 32) if is_wide else (np.int32, 1)
    addend = (np.arange(24 * signs).reshape(signs, 24) * 100 * scale).astype(dtype)
    factors = (1 << 25) + np.arange(multipliers, dtype=np.int32) * 9999
    form = Form(left, 4, factors, addend)
    plan = planned(problem)
    bias = np.arange(24, dtype=np.int32) * 50 - 600
    spec, own = problem.spec, Epilogue(problem.spec.output, form, bias)
    inputs = [problem.data, plan.constants[0], *own.constants()]
    function = conv2d(spec, plan.build.keywords["tile"], own)
    result = run_on("nehalem", function, inputs, spec.out_shape, "int8")
    sums = problem.data.astype(np.int64) @ problem.kernel[:, 0, 0].T.astype(np.int64) + bias
    np.testing.assert_array_equal(result, np.clip(form(sums), -128, 127))


@mcu.emulated
def test_pairs_equal_the_definition(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    drawn = [random_problem(rng, ("tflite", "upward", "float64")) for _ in range(120)]
    # Two channels' weights that cannot be joined; dense layers; windows of whole words.
    for how in ("min", "max", "ends"):
        drawn.append(problem_of(POINTWISE, rng, how=how))
    single = replace(POINTWISE, in_height=1, in_width=1)
    for channels in (3, 16, 640):
        drawn.append(problem_of(replace(single, in_channels=channels), rng))
    drawn.append(problem_of(replace(SPEC, padding=(1, 1, 1, 1)), rng))
    window = replace(SPEC, in_height=3, in_width=3, in_channels=60)
    drawn += [problem_of(replace(window, in_dtype=dtype), rng) for dtype in ("int8", "uint8")]
    plans = mcu.check_problems("cortex-m4", drawn, with_pairs, tmp_path)
    assert {plan.build.keywords["tile"].is_joined for plan in plans} == {True, False}


def test_weights_of_two_channels_are_one_pair() -> None:
    rows = np.array([[1, 2, 3, 4], [5, 6, 7, -8]], np.int8)
    assert join(np.array([[-1], [-128]], np.int8)) is None
    joined = join(rows)
    assert joined is not None
    assert joined.tolist() == [[1 + 5 * 256, 2 + 6 * 256, 3 + 7 * 256, 4 - 8 * 256]]
    packed = packed_rows(rows, Tile(1, 2, has_pairs=True, is_joined=True), 4)
    assert packed.view("<i2").tolist() == joined[0, [0, 2, 1, 3]].tolist()


def of_sizes(sizes: Sequence[tuple[int, int, int]]) -> list[Problem]:
    """Return convolutions of single pixels, of so many on a side, and so many channels."""
    rng, problems = np.random.default_rng(8), []
    for side, inputs, outputs in sizes:
        spec = replace(POINTWISE, in_height=side, in_width=side, in_channels=inputs)
        spec = changed(spec, out_channels=outputs, rounding="upward")
        problem = problem_of(spec, rng)
        np.maximum(problem.kernel, -127, out=problem.kernel)
        scales = np.linspace(0.9, 1.1, outputs) * 2.0**-8
        problems.append(replace(problem, real_multiplier=scales))
    return problems


# Of words by fours, and of others, by twos: the last of some is none.
SIZES = [
    [(6, 16, 8), (3, 32, 24), (2, 80, 2), (9, 48, 52)],
    [(6, 24, 20), (3, 20, 40), (5, 12, 2), (3, 52, 24), (2, 72, 6)],
]


@pytest.mark.parametrize("sizes", SIZES)
def test_layers_of_many_sizes_are_one_function(sizes: list[tuple[int, int, int]]) -> None:
    plans = [planned(problem, has_pairs=True) for problem in of_sizes(sizes)]
    assert all(plan.build.keywords["tile"].is_joined for plan in plans)
    functions = {f"f{number}": plan.build() for number, plan in enumerate(plans)}
    compiled = compile_functions(functions, {n: n for n in functions}, parse_target("cortex-m4"))
    merged = compiled.merged({name: {"": ()} for name in functions})
    assert [*merged.functions] == ["f0"]
    # An output may lie over the data up to where its own channels are more.
    for problem, lead in zip(of_sizes(sizes), compiled.leads(4).values(), strict=True):
        assert lead[0, 3] <= problem.result.size


@mcu.emulated
def test_layers_of_many_sizes_equal_the_definition(tmp_path: Path) -> None:
    problems = [problem for sizes in SIZES for problem in of_sizes(sizes)]
    assert len(mcu.check_problems("cortex-m4", problems, with_pairs, tmp_path)) == len(problems)


def test_a_bias_that_the_form_has_joins_no_sum() -> None:
    spec = changed(POINTWISE, rounding="upward")
    problem = problem_of(spec, np.random.default_rng(5))
    problem.kernel[-1] = 0
    problem.bias[-1] = 1 << 30
    plan = planned(problem, has_pairs=True)
    assert plan.build.keywords["epilogue"].bias is None
    assert plan.build.keywords["tile"].is_joined


def test_values_of_a_large_dense_layer_are_unpacked_where_they_are_multiplied() -> None:
    single = replace(POINTWISE, in_height=1, in_width=1)
    for channels in (508, 512):
        problem = problem_of(replace(single, in_channels=channels), np.random.default_rng(7))
        plan = planned(problem, has_pairs=True)
        functions = {"conv": plan.build()}
        compiled = compile_functions(functions, {"conv": "m_conv"}, parse_target("cortex-m4"))
        assert compiled.scratch["conv"] == ((1016,) if channels == 508 else ())
        assert unpacks_anew(plan.spec, plan.build.keywords["tile"]) == (channels == 512)
    window = replace(SPEC, in_height=3, in_width=3, in_channels=60)
    assert unpacks_anew(window, choose_tile(window, has_pairs=True))
    assert not unpacks_anew(window, choose_tile(window, has_pairs=False))
    for fields in ({"padding": (0, 0, 1, 1)}, {"in_width": 4}, {"in_channels": 62}):
        other = replace(window, **fields, strides=(2, 2))
        assert not unpacks_anew(other, choose_tile(other, has_pairs=True))


def assembly(problem: Problem, name: str, *, has_pairs: bool) -> str:
    plan = planned(problem, has_pairs=has_pairs)
    functions = {"conv": plan.build()}
    compiled = compile_functions(functions, {"conv": "m_conv"}, parse_target(name))
    return str(compiled.module.inspect_source("asm"))


def test_a_core_with_pairs_multiplies_two_at_a_time_and_calls_nothing() -> None:
    problem = problem_of(replace(POINTWISE, in_channels=64), np.random.default_rng(4))
    code = assembly(problem, "cortex-m4", has_pairs=True)
    for instruction in ("smlad", "sxtb16", "smm", "ldrd"):
        assert instruction in code
    assert "\tbl\t" not in code
    # What a wider sum would take.
    assert "adc" not in code


@pytest.mark.parametrize("name", ["cortex-m3", "riscv32"])
def test_other_cores_multiply_bytes_one_by_one(name: str) -> None:
    problem = problem_of(POINTWISE, np.random.default_rng(5))
    code = assembly(problem, name, has_pairs=False)
    assert "smlad" not in code
    assert "\tbl\t" not in code


def test_words_are_filled_with_zeros() -> None:
    tile = choose_tile(replace(POINTWISE, in_channels=3), has_pairs=True)
    rows = np.arange(1, 13, dtype=np.int8).reshape(4, 3)
    packed = packed_rows(rows, tile, 4).reshape(2, 2, 4)
    assert packed.tolist() == [[[1, 2, 3, 0], [4, 5, 6, 0]], [[7, 8, 9, 0], [10, 11, 12, 0]]]


def test_a_tile_s_channels_divide_all() -> None:
    for channels, expected in ((7, 1), (8, 2)):
        tile = choose_tile(replace(SPEC, out_channels=channels), has_pairs=True)
        assert (tile.pixels, tile.channels) == (2, expected)
    single = replace(POINTWISE, in_height=1, in_width=1, out_channels=8)
    assert choose_tile(single, has_pairs=True).channels == 4


def test_c_has_iterations_whose_values_fit_registers() -> None:
    single = replace(SPEC, in_height=1, in_width=1, kernel_height=1, kernel_width=1, out_channels=8)
    several, few = replace(SPEC, out_channels=8), replace(SPEC, out_channels=6)
    tiles = [choose_tile(spec, has_pairs=False, is_plain_c=True) for spec in (several, few, single)]
    assert [(tile.pixels, tile.channels, tile.most) for tile in tiles] == [
        (2, 4, 1),
        (2, 2, 1),
        (1, 4, 2),
    ]
    assert choose_tile(single, has_pairs=False).most == 4
