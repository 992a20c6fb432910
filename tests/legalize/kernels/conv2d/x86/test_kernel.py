from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.pairs.plan import pairs_plan
from legalize.kernels.conv2d.x86.plan import Plan
from legalize.kernels.isa.x86 import AVX512_VNNI, AVX512BW, AVX_VNNI, Isa
from tests.support.convolutions import (
    Problem,
    changed,
    check_results,
    problems_of,
    random_problem,
)
from tests.support.x86 import PROCESSORS, each_isa, examples, needs_vnni, optimized, run_convs

SPEC = ConvSpec(1, 9, 8, 16, 3, 3, 32, input_zero_point=3, output=OutputStage("uint8", 0, 0, 255))


def check(
    problems: list[Problem],
    isa: Isa = AVX512_VNNI,
    planned: Callable[[ConvSpec, Isa], Plan] = dot_plan,
) -> None:
    convolutions = [(each.spec, each.data, each.weights) for each in problems]
    check_results(problems, run_convs(convolutions, isa, planned))


# Each example of a property is compiled together with some others, in less time.
TOGETHER = 5
seeds = st.integers(0, 2**32 - 1)


def drawn(seed: int, staged_dtype: str = "uint8") -> list[Problem]:
    """Draw convolutions that are compiled together."""
    rng = np.random.default_rng(seed)
    problems = [random_problem(rng, ("tflite", "upward")) for _ in range(TOGETHER)]
    return [replace(each, spec=replace(each.spec, staged_dtype=staged_dtype)) for each in problems]


@needs_vnni
@settings(max_examples=examples(60 // TOGETHER))
@given(seeds)
def test_equals_the_definition(seed: int) -> None:
    check(drawn(seed))


# The dtype of staged data, and how many examples are tried. Where an instruction set multiplies
# bytes, neither words nor pairs are needed.
WAYS: dict[str, tuple[Callable[[ConvSpec, Isa], Plan], str, int]] = {
    "dot": (dot_plan, "uint8", 15),
    "dot of words": (dot_plan, "int16", 20),
    "pairs": (pairs_plan, "uint8", 20),
}


@each_isa
@pytest.mark.parametrize("way", WAYS)
def test_every_instruction_set_equals_the_definition(isa: Isa, way: str) -> None:
    if isa.has_byte_products and way != "dot":
        pytest.skip("it multiplies bytes")
    planned, staged_dtype, count = WAYS[way]

    @settings(max_examples=examples(count // TOGETHER, PROCESSORS[isa][0]))
    @given(seeds)
    def run(seed: int) -> None:
        check(drawn(seed, staged_dtype), isa, planned)

    run()


@each_isa
def test_narrow_blocks_of_every_instruction_set(isa: Isa) -> None:
    """Stores of 4, 2 and 1 vectors, and of a rest of any width."""
    spec = changed(SPEC, in_height=4, in_channels=6, dtype="int8", low=-100, high=90)
    check(problems_of(replace(spec, out_channels=count) for count in (3, 16, 22, 47, 64)), isa)


@needs_vnni
@pytest.mark.parametrize("out_dtype", ["uint8", "int8"])
def test_any_number_of_output_channels(out_dtype: str) -> None:
    spec = changed(SPEC, in_height=4, kernel_width=1, in_channels=5, dtype=out_dtype, high=127)
    counts = (1, 15, 16, 17, 33, 48, 63, 64, 65, 80, 97, 112, 144)
    check(problems_of(replace(spec, out_channels=count) for count in counts))


@needs_vnni
@pytest.mark.parametrize("kernel_width", [1, 3])
def test_any_number_of_input_channels(kernel_width: int) -> None:
    spec = replace(SPEC, in_height=5, kernel_width=kernel_width)
    specs = [replace(spec, in_channels=count) for count in (*range(1, 10), 31, 63, 65, 130)]
    check(problems_of(specs, kernel_zero_point=-7))


@needs_vnni
def test_dense_of_any_number_of_rows() -> None:
    spec = changed(
        SPEC,
        in_height=1,
        in_width=1,
        kernel_height=1,
        kernel_width=1,
        in_channels=203,
        out_channels=101,
        dtype="int8",
        zero_point=-5,
        low=-128,
        high=127,
        rounding="upward",
    )
    check(problems_of(replace(spec, batch=rows) for rows in (1, 2, 5, 13, 40)))


@each_isa
@pytest.mark.parametrize(("planned", "channels"), [(dot_plan, 700), (pairs_plan, 260)])
@pytest.mark.parametrize("zero_point", [-128, 127])
def test_the_largest_sums_are_exact(
    zero_point: int, planned: Callable[[ConvSpec, Isa], Plan], channels: int, isa: Isa
) -> None:
    """Partial sums near the extremes for weights and data: nothing saturates."""
    if isa.has_byte_products and planned is pairs_plan:
        pytest.skip("it needs no pairs")
    point = 0 if zero_point > 0 else 255
    spec = changed(SPEC, in_height=3, in_channels=channels, input_zero_point=point, dtype="int32")
    ends = [
        problem
        for how in ("min", "max")
        for problem in problems_of([spec], how=how, kernel_zero_point=zero_point)
    ]
    check(ends, isa, planned)


@pytest.mark.parametrize(
    ("kernel", "channels"), [((3, 3), 64), ((1, 7), 192), ((1, 7), 160), ((1, 1), 768)]
)
@pytest.mark.parametrize(
    ("isa", "mcpu", "registers"),
    [
        (AVX512_VNNI, "cascadelake", "%zmm"),
        (AVX512_VNNI, "sapphirerapids", "%zmm"),
        (AVX512_VNNI, "znver4", "%zmm"),
        (AVX_VNNI, "alderlake", "%ymm"),
        (AVX_VNNI, "sierraforest", "%ymm"),
    ],
)
def test_accumulators_stay_in_registers(
    isa: Isa, mcpu: str, registers: str, kernel: tuple[int, int], channels: int
) -> None:
    """The inner loop loads data and weights, multiplies, asks for others, and stores nothing."""
    height, width = kernel
    spec = replace(
        SPEC,
        in_height=16 + height,
        in_width=16 + width,
        kernel_height=height,
        kernel_width=width,
        in_channels=channels,
        out_channels=channels,
    )
    weights = np.ones((channels, height, width, channels), np.int8)
    plan = dot_plan(spec, isa)
    packed = plan.pack(Weights(weights, 0, None, 1 << 30, -8))
    function = plan.function(packed)
    assembly = tvm.compile(function, target=optimized(mcpu)).mod.inspect_source("asm")
    loops = inner_loops(assembly)
    assert loops
    for loop in loops:
        assert all(registers in words[-1] for words in loop if words[0].startswith("vp"))
        assert not [words for words in loop if words[0].startswith("vmov") and "(" in words[-1]]
        requests = [words for words in loop if words[0].startswith("prefetch")]
        products = [words for words in loop if words[0] == "vpdpbusd"]
        assert 0 < len(requests) <= len(products) / 10


@pytest.mark.parametrize(("isa", "rows"), [(AVX512_VNNI, 1), (AVX512BW, 24)])
def test_nothing_is_fetched_without_need(isa: Isa, rows: int) -> None:
    """Not where weights are read once, nor where a product takes several instructions."""
    spec = replace(SPEC, in_height=rows, in_width=1, kernel_height=1, kernel_width=1)
    weights = np.ones((32, 1, 1, 16), np.int8)
    plan = dot_plan(spec, isa)
    packed = plan.pack(Weights(weights, 0, None, 1 << 30, -8))
    function = plan.function(packed)
    assert "prefetch" not in function.script()


def inner_loops(assembly: str) -> list[list[list[str]]]:
    """The words of the instructions of each loop that has products and no jump but its own."""
    loops: list[list[list[str]]] = []
    block: list[list[str]] = []
    label = ""
    for line in assembly.splitlines():
        words = line.replace("{vex}", "").split()
        if not words or (words[0].startswith(".") and not words[0].startswith(".LBB")):
            continue
        if words[0].endswith(":"):
            label, block = words[0][:-1], []
        elif words[0].startswith("j"):
            if words[-1] == label and any(each[0] == "vpdpbusd" for each in block):
                loops.append(block)
            label, block = "", []
        else:
            block.append(words)
    return loops
