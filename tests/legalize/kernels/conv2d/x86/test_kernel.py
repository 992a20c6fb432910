from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

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
from qnn_ops.arrays import Array
from tests.support.arrays import full_range
from tests.support.convolutions import changed
from tests.support.definition import accumulators, rescaled
from tests.support.x86 import PROCESSORS, each_isa, examples, needs_vnni, optimized, run_convs

SPEC = ConvSpec(1, 9, 8, 16, 3, 3, 32, input_zero_point=3, output=OutputStage("uint8", 0, 0, 255))
MIDDLE = {"uint8": 128, "int8": 0}

sizes = st.integers(1, 3)
pads = st.integers(0, 2)
channels = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 17, 30, 64, 70, 131])
dtypes = st.sampled_from(["uint8", "int8"])


def values_of(dtype: str) -> st.SearchStrategy[int]:
    info = np.iinfo(dtype)
    return st.one_of(
        st.sampled_from([int(info.min), int(info.max)]), st.integers(info.min, info.max)
    )


@st.composite
def specs(draw: st.DrawFn) -> tuple[ConvSpec, int]:
    """Return a convolution and the zero point of its kernel."""
    in_dtype, kernel_dtype = draw(dtypes), draw(dtypes)
    out_dtype = draw(st.sampled_from(["uint8", "int8", "uint8", "int8", "int32"]))
    kernel, dilation = draw(st.tuples(sizes, sizes)), draw(st.tuples(sizes, sizes))
    padding = draw(st.tuples(pads, pads, pads, pads))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    least = [max(1, reach[i] - padding[i] - padding[i + 2]) for i in range(2)]
    zero_point = draw(st.one_of(st.just(MIDDLE[kernel_dtype]), values_of(kernel_dtype)))
    output_zero_point, bounds = 0, (-(2**31), 2**31 - 1)
    if out_dtype != "int32":
        output_zero_point = draw(values_of(out_dtype))
        bounds = (int(np.iinfo(out_dtype).min), int(np.iinfo(out_dtype).max))
        if draw(st.booleans()):  # a ReLU
            bounds = output_zero_point, bounds[1]
        if draw(st.booleans()):
            bounds = bounds[0], draw(st.integers(*bounds))
    spec = ConvSpec(
        draw(sizes),
        draw(st.integers(least[0], least[0] + 6)),
        draw(st.integers(least[1], least[1] + 6)),
        draw(channels),
        kernel[0],
        kernel[1],
        draw(channels),
        strides=draw(st.tuples(sizes, sizes)),
        padding=padding,
        dilation=dilation,
        in_dtype=in_dtype,
        input_zero_point=draw(values_of(in_dtype)),
        kernel_dtype=kernel_dtype,
        has_asymmetric_kernel=zero_point != MIDDLE[kernel_dtype],
        output=OutputStage(
            out_dtype,
            output_zero_point,
            bounds[0],
            bounds[1],
            draw(st.sampled_from(["tflite", "upward"])),
        ),
    )
    return spec, zero_point


def fill(rng: np.random.Generator, how: str, dtype: str, shape: tuple[int, ...]) -> Array:
    if how == "random":
        return full_range(rng, dtype, shape)
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max], dtype)
    return ends[rng.integers(0, 2, shape) if how == "ends" else np.full(shape, int(how == "max"))]


class Example(NamedTuple):
    """A convolution, its kernel's zero point, and how its arrays are drawn."""

    spec: ConvSpec
    zero_point: int = 0
    how: str = "random"
    shift: int = -9
    seed: int = 0

    def drawn(self) -> tuple[Array, Weights]:
        """Return data and weights."""
        spec, rng = self.spec, np.random.default_rng(self.seed)
        data = fill(rng, self.how, spec.in_dtype, spec.in_shape)
        kernel_shape = (spec.out_channels, spec.kernel_height, spec.kernel_width, spec.in_channels)
        kernel = fill(rng, self.how, spec.kernel_dtype, kernel_shape)
        bias = rng.integers(-(1 << 14), 1 << 14, spec.out_channels, dtype=np.int32)
        multiplier = rng.integers(1 << 30, (1 << 31) - 1, spec.out_channels, dtype=np.int32)
        shifts = self.shift + rng.integers(-2, 3, spec.out_channels)
        shift = np.clip(shifts, -31, 3).astype(np.int32)
        return data, Weights(kernel, self.zero_point, bias, multiplier, shift)


def check(
    tried: Sequence[Example],
    isa: Isa = AVX512_VNNI,
    planned: Callable[[ConvSpec, Isa], Plan] = dot_plan,
) -> None:
    convolutions = [(example.spec, *example.drawn()) for example in tried]
    results = run_convs(convolutions, isa, planned)
    for got, example, (spec, data, weights) in zip(results, tried, convolutions, strict=True):
        sums = accumulators(spec, data, weights.kernel, example.zero_point, weights.bias)
        expected = rescaled(spec, sums, np.asarray(weights.multiplier), np.asarray(weights.shift))
        np.testing.assert_array_equal(got, expected, err_msg=str(example))


# Each example of a property is compiled together with some others, in less time.
TOGETHER = 5


def several(*shifts: int) -> st.SearchStrategy[list[Example]]:
    """Draw convolutions that are compiled together."""
    hows = st.sampled_from(["random", "ends", "min", "max"])
    arrays = st.tuples(hows, st.sampled_from(shifts), st.integers(0, 2**32 - 1))
    drawn = st.builds(lambda spec, array: Example(*spec, *array), specs(), arrays)
    return st.lists(drawn, min_size=TOGETHER, max_size=TOGETHER)


@needs_vnni
@settings(max_examples=examples(60 // TOGETHER))
@given(several(-31, -25, -14, -11, -8, -4, 0, 3))
def test_equals_the_definition(tried: list[Example]) -> None:
    check(tried)


# The dtype of staged data, and how many examples are tried. Where an instruction set multiplies
# bytes, neither words nor pairs are needed.
WAYS: dict[str, tuple[Callable[[ConvSpec, Isa], Plan], dict[str, Any], int]] = {
    "dot": (dot_plan, {}, 15),
    "dot of words": (dot_plan, {"staged_dtype": "int16"}, 20),
    "pairs": (pairs_plan, {}, 20),
}


@each_isa
@pytest.mark.parametrize("way", WAYS)
def test_every_instruction_set_equals_the_definition(isa: Isa, way: str) -> None:
    if isa.has_byte_products and way != "dot":
        pytest.skip("it multiplies bytes")
    planned, change, count = WAYS[way]

    @settings(max_examples=examples(count // TOGETHER, PROCESSORS[isa][0]))
    @given(several(-31, -14, -11, -8, 0, 3))
    def run(tried: list[Example]) -> None:
        check([each._replace(spec=replace(each.spec, **change)) for each in tried], isa, planned)

    run()


@each_isa
def test_narrow_blocks_of_every_instruction_set(isa: Isa) -> None:
    """Stores of 4, 2 and 1 vectors, and of a rest of any width."""
    spec = changed(SPEC, in_height=4, in_channels=6, dtype="int8", low=-100, high=90)
    check([Example(replace(spec, out_channels=count)) for count in (3, 16, 22, 47, 64)], isa)


@needs_vnni
@pytest.mark.parametrize("out_dtype", ["uint8", "int8"])
def test_any_number_of_output_channels(out_dtype: str) -> None:
    spec = changed(SPEC, in_height=4, kernel_width=1, in_channels=5, dtype=out_dtype, high=127)
    counts = (1, 15, 16, 17, 33, 48, 63, 64, 65, 80, 97, 112, 144)
    check([Example(replace(spec, out_channels=count)) for count in counts])


@needs_vnni
@pytest.mark.parametrize("kernel_width", [1, 3])
def test_any_number_of_input_channels(kernel_width: int) -> None:
    spec = replace(SPEC, in_height=5, kernel_width=kernel_width, has_asymmetric_kernel=True)
    counts = (*range(1, 10), 31, 63, 65, 130)
    check([Example(replace(spec, in_channels=count), zero_point=-7) for count in counts])


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
    check([Example(replace(spec, batch=rows)) for rows in (1, 2, 5, 13, 40)])


@each_isa
@pytest.mark.parametrize(("planned", "channels"), [(dot_plan, 700), (pairs_plan, 260)])
@pytest.mark.parametrize("zero_point", [-128, 127])
def test_the_largest_sums_are_exact(
    zero_point: int, planned: Callable[[ConvSpec, Isa], Plan], channels: int, isa: Isa
) -> None:
    """Partial sums near the extremes for weights and data: nothing saturates."""
    if isa.has_byte_products and planned is pairs_plan:
        pytest.skip("it needs no pairs")
    spec = changed(
        SPEC,
        in_height=3,
        in_channels=channels,
        input_zero_point=0 if zero_point > 0 else 255,
        dtype="int32",
        has_asymmetric_kernel=True,
    )
    check([Example(spec, zero_point, how) for how in ("min", "max")], isa, planned)


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
