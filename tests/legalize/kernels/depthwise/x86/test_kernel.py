"""The depthwise kernel against the definition, next to memory that it must not touch."""

import ctypes
import mmap
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
import tvm

from legalize.kernels.conv2d.spec import ConvSpec, OutputStage
from legalize.kernels.depthwise.x86.plan import Cells, Plan
from legalize.kernels.depthwise.x86.rules import pack_depthwise
from legalize.kernels.isa.x86 import AVX512_VNNI, Isa
from qnn_ops.arrays import Array
from tests.support.convolutions import Problem, changed, check_results, problems_of
from tests.support.programs import Case
from tests.support.x86 import PROCESSORS, TARGET, each_isa, needs_vnni, run_cases, runs_here

SPEC = ConvSpec(
    1,
    8,
    8,
    64,
    3,
    3,
    64,
    padding=(1, 1, 1, 1),
    in_dtype="int8",
    input_zero_point=-3,
    output=OutputStage("int8", -10, -128, 127),
)


class Example(NamedTuple):
    """A convolution; ``large`` are the only taps with weights of more than 8 bits."""

    spec: ConvSpec
    zero_point: int = 0
    plan: Plan | None = None
    large: list[tuple[int, int]] | None = None

    def case(self, isa: Isa) -> tuple[Case, Array]:
        """Return the call of the kernel, and the result by the definition."""
        (problem,) = problems_of([self.spec], kernel_zero_point=self.zero_point, is_depthwise=True)
        if self.large is not None:
            lowest = self.zero_point - 128
            kernel = np.clip(problem.kernel, lowest, lowest + 255).astype(problem.kernel.dtype)
            for row, column in self.large:
                kernel[row, column, ::7] = 255
            problem = replace(problem, kernel=kernel)
        return case_of(problem, isa, self.plan), problem.result


def case_of(problem: Problem, isa: Isa, plan: Plan | None = None) -> Case:
    return problem.case(pack_depthwise(problem.spec, problem.weights, isa, plan))


def check(*examples: Example, isa: Isa = AVX512_VNNI) -> None:
    """Compile examples together, and compare each with the definition."""
    cases, expected = zip(*(each.case(isa) for each in examples), strict=True)
    results = run_cases(PROCESSORS[isa][0], cases)
    for result, wanted, example in zip(results, expected, examples, strict=True):
        np.testing.assert_array_equal(result, wanted, err_msg=str(example))


def with_channels(channels: int, **change: Any) -> ConvSpec:
    return changed(SPEC, in_channels=channels, out_channels=channels, **change)


@needs_vnni
def test_any_number_of_channels() -> None:
    counts = [(count, "int8") for count in (1, 3, 8, 15, 16, 17, 24, 32, 65, 127)]
    check(
        *(
            Example(with_channels(channels, in_height=4, in_width=5, dtype=dtype))
            for channels, dtype in (*counts, (3, "int32"))
        )
    )


@each_isa
def test_an_image_of_three_pixels(isa: Isa) -> None:
    # LLVM 22 crashed on the code that remained after unrolling.
    window = {"kernel_height": 1, "kernel_width": 2, "strides": (2, 2), "padding": (0, 0, 0, 1)}
    check(Example(with_channels(6, in_height=1, in_width=3, **window)), isa=isa)


@needs_vnni
@pytest.mark.parametrize("batch", [1, 3])
def test_shared_out_to_threads(batch: int) -> None:
    spec = with_channels(64, batch=batch, in_height=61, in_width=60)
    assert "T.parallel" in Example(spec).case(AVX512_VNNI)[0].function.script()
    check(Example(spec))


@needs_vnni
def test_every_plan_computes_the_same() -> None:
    examples = []
    for rows, tiles, stride in ((1, 1, 1), (1, 7, 2), (2, 3, 1), (3, 2, 2), (4, 1, 3)):
        spec = with_channels(48, in_height=13, in_width=14, strides=(stride, stride))
        plan = Plan(spec, AVX512_VNNI, Cells(4), rows, tiles)
        examples.append(Example(spec, plan=plan))
    check(*examples)


@needs_vnni
def test_blocks_of_any_width_compute_the_same() -> None:
    """Blocks overlap; with few channels, lanes of a single block stay empty."""
    widths = (64, 32, 16), (64, 16), (32, 16), (16,), (64, 32), (64,), (32,)
    specs = [with_channels(channels, in_height=5, in_width=7) for channels in (116, 21, 32, 2)]
    check(
        *(
            Example(spec, plan=Plan(spec, AVX512_VNNI, Cells(4), 2, 2, each))
            for spec, each in product(specs, widths)
        )
    )


@needs_vnni
@pytest.mark.parametrize(
    ("window", "dilation", "padding"),
    [
        ((5, 5), (1, 1), (2, 2, 2, 2)),
        ((1, 1), (1, 1), (0, 0, 0, 0)),
        ((1, 9), (1, 1), (0, 4, 0, 4)),
        ((9, 1), (1, 1), (4, 0, 4, 0)),
        ((3, 3), (2, 3), (2, 3, 2, 3)),
        ((11, 11), (1, 1), (5, 5, 5, 5)),
        ((8, 8), (1, 1), (0, 0, 0, 0)),
        ((2, 2), (1, 1), (7, 7, 9, 9)),
    ],
)
def test_any_window(
    window: tuple[int, int], dilation: tuple[int, int], padding: tuple[int, int, int, int]
) -> None:
    spec = with_channels(
        33,
        kernel_height=window[0],
        kernel_width=window[1],
        dilation=dilation,
        padding=padding,
    )
    other = replace(spec, strides=(3, 2), kernel_dtype="uint8")
    check(Example(spec), Example(other, zero_point=101))


@each_isa
def test_every_instruction_set_and_zero_point(isa: Isa) -> None:
    """Weights then take more than 8 bits: two terms of them, or two products at a time."""
    spec = with_channels(57, kernel_dtype="uint8", in_dtype="uint8", input_zero_point=200)
    check(Example(spec), Example(spec, 101), isa=isa)


@needs_vnni
def test_few_taps_with_large_weights() -> None:
    specs = [with_channels(80, kernel_dtype="uint8", strides=(each, each)) for each in (1, 2)]
    larges = [(0, 0)], [(2, 1)], [(0, 2), (1, 0), (1, 2)]
    check(*(Example(spec, 101, large=large) for spec in specs for large in larges))


@needs_vnni
def test_a_large_weight_of_a_wide_kernel() -> None:
    spec = with_channels(16, kernel_dtype="uint8", kernel_height=9, kernel_width=11)
    check(Example(replace(spec, padding=(4, 5, 4, 5)), 101, large=[(3, 7)]))


@each_isa
def test_sums_of_every_instruction_set(isa: Isa) -> None:
    spec = with_channels(41, dtype="int32", strides=(2, 2), in_height=5, in_width=6)
    check(Example(spec), isa=isa)


@needs_vnni
def test_dtypes_and_clamps() -> None:
    numbers: dict[str, Any] = {"input_zero_point": 7, "zero_point": 20, "low": 10, "high": 90}
    bytes_of = ("int8", "uint8")
    check(
        *(
            Example(changed(SPEC, in_dtype=into, dtype=out, rounding=rounding, **numbers))
            for into, out, rounding in product(bytes_of, bytes_of, ("tflite", "upward"))
        )
    )


@each_isa
@pytest.mark.parametrize(("end", "weight"), [(0, 255), (1, 0)])
def test_the_largest_sums_are_exact(isa: Isa, end: int, weight: int) -> None:
    in_dtype = "int8"
    info = np.iinfo(in_dtype)
    ends = (int(info.min), int(info.max))
    spec = changed(
        SPEC,
        in_dtype=in_dtype,
        dtype="int32",
        kernel_dtype="uint8",
        input_zero_point=ends[1 - end],
    )
    (problem,) = problems_of([spec], kernel_zero_point=255 - weight, is_depthwise=True)
    problem = replace(
        problem,
        data=np.full_like(problem.data, ends[end]),
        kernel=np.full_like(problem.kernel, weight),
        bias=np.zeros_like(problem.bias),
    )
    results = run_cases(PROCESSORS[isa][0], [case_of(problem, isa)])
    assert abs(results[0]).max() == 9 * 255 * 255
    check_results([problem], results)


@needs_vnni
@pytest.mark.parametrize("channels", [1, 3, 17, 24, 40])
@pytest.mark.parametrize("stride", [1, 2])
def test_reads_nothing_past_the_data(channels: int, stride: int) -> None:
    """The data ends where a page begins that must not be read."""
    spec = with_channels(channels, strides=(stride, stride))
    if not runs_here(TARGET["mcpu"]):
        check(Example(spec))  # in the emulator every array lies so
        return
    (problem,) = problems_of([spec], is_depthwise=True)
    plan = pack_depthwise(spec, problem.weights, AVX512_VNNI)
    size = int(np.prod(spec.in_shape))
    pages = -(-size // mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    bytes_of = np.frombuffer(memory, np.uint8)
    guard = ctypes.c_void_p(bytes_of.ctypes.data + pages * mmap.PAGESIZE)
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    assert mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    start = pages * mmap.PAGESIZE - size
    assert start % 64 == 0
    data = bytes_of[start : start + size].view(np.int8).reshape(spec.in_shape)
    data[:] = problem.data
    library = tvm.compile(plan.build(), target=tvm.target.Target({**TARGET, "opt-level": 3}))
    output = tvm.runtime.tensor(np.zeros(spec.out_shape, np.int8))
    constants = [tvm.runtime.tensor(array) for array in plan.constants]
    library["depthwise_conv2d"](tvm.runtime.from_dlpack(data), *constants, output)
    check_results([problem], [output.numpy()])
