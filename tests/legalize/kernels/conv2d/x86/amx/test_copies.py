from dataclasses import replace

import numpy as np
import pytest
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx import plan as plans
from legalize.kernels.conv2d.x86.amx.copies import can_copy, copy_pixel, pitch_of
from legalize.kernels.conv2d.x86.amx.plan import TilePlan, cut_copied, cut_copied_to_width
from legalize.kernels.conv2d.x86.rules import cheapest_plan
from legalize.kernels.isa.x86 import AMX
from tests.legalize.kernels.conv2d.x86.amx.test_kernel import arguments
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.support.convolutions import SPEC as SMALL
from tests.support.convolutions import changed, problem_of
from tests.support.errors import giving
from tests.support.tiles import use_soft_tiles
from tests.support.x86 import needs_native_vnni, run_on

SPEC = replace(SMALL, in_dtype="uint8", staged_dtype="uint8", input_zero_point=9, out_channels=40)
SPEC = changed(SPEC, dtype="uint8", zero_point=3, low=0, high=255)


def shaped(channels: int, kernel: tuple[int, int], strides: tuple[int, int]) -> ConvSpec:
    spec = replace(SPEC, in_channels=channels, in_height=13, in_width=47, padding=(1, 0, 1, 2))
    return replace(spec, kernel_height=kernel[0], kernel_width=kernel[1], strides=strides)


FIRST = shaped(3, (3, 3), (2, 2))
SHAPES = [
    FIRST,
    shaped(3, (7, 7), (2, 2)),
    shaped(80, (3, 3), (1, 1)),
    shaped(16, (1, 7), (1, 1)),
    replace(shaped(17, (2, 3), (1, 2)), dilation=(2, 2), batch=2),
]


@pytest.mark.parametrize("spec", SHAPES)
def test_a_copy_holds_what_a_pixel_reads(spec: ConvSpec) -> None:
    problem = problem_of(spec, np.random.default_rng(0))
    length = spec.runs * spec.run_length
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("copy")
        T.func_attr({"global_symbol": "copy"})
        source = T.arg("source", T.buffer((problem.staged.size,), "uint8"))
        target = T.arg("target", T.buffer((length,), "uint8"))
        copy_pixel(spec, source, 0, target, 0)
    copied = run_on("x86-64", builder.get(), [problem.staged.ravel()], (length,), "uint8")
    (dy, dx), image = spec.dilation, problem.staged[0]
    window = image[: dy * spec.kernel_height : dy, : dx * spec.kernel_width : dx]
    np.testing.assert_array_equal(copied, window.ravel())


@needs_native_vnni
@pytest.mark.parametrize(("nr", "zero_point", "shapes"), [(2, 5, SHAPES[::2]), (4, 0, SHAPES[1:4])])
def test_outputs_of_copies_equal_the_definition(
    nr: int, zero_point: int, shapes: list[ConvSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_soft_tiles(monkeypatch)
    for spec in shapes:
        _check(spec, nr, zero_point, spec.out_pixels)


@needs_native_vnni
@pytest.mark.parametrize("nr", [2, 4])
def test_outputs_of_copies_of_a_turn_equal_the_definition(
    nr: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_soft_tiles(monkeypatch)
    monkeypatch.setattr(plans, "_MOST_COPIES", 0)
    spec = replace(SHAPES[nr == 2], out_channels=16 * nr - 3)
    _check(spec, nr, 5, 32 if nr == 2 else 16)


def _check(spec: ConvSpec, nr: int, zero_point: int, copied: int) -> None:
    problem = problem_of(spec, np.random.default_rng(1), kernel_zero_point=zero_point)
    spec = problem.spec
    plan = cut_copied_to_width(spec, nr)
    assert plan is not None
    assert plan.copied == copied
    function, inputs = arguments(problem, plan)
    got = run_on("cascadelake", function, inputs, spec.out_shape, spec.output.dtype)
    np.testing.assert_array_equal(got, problem.result, err_msg=f"{spec}\n{plan}")


test_copies_begin_with_lines_of_the_cache = giving(
    pitch_of,
    (9, 16),
    (27, 32),
    (33, 64),
    (147, 192),
    (2592, 2624),
    (1024, 1088),
)


def test_some_convolutions_are_not_copied() -> None:
    # A 1 × 1 convolution as it is, and rows shorter than two vectors.
    assert not can_copy(sized(14, 14, 64, 64, 1))
    assert not can_copy(sized(6, 6, 3, 64, 3))
    # Long runs without strides, where copies only avoid the padding.
    assert not can_copy(sized(8, 8, 384, 384, 3))
    assert can_copy(replace(sized(8, 8, 384, 384, 3), strides=(2, 2)))
    assert can_copy(sized(32, 32, 16, 64, 3))
    # Copies beyond 1 MiB, unless of a first layer with one block of channels.
    assert cut_copied(sized(58, 58, 64, 64, 3)) is None
    first = replace(sized(224, 224, 3, 64, 7), strides=(2, 2))
    copied = cut_copied(first)
    assert copied is not None
    assert copied.copied == 16
    assert cut_copied(replace(first, out_channels=128)) is None


def _chosen(spec: ConvSpec) -> bool:
    spec = changed(replace(spec, kernel_dtype="int8"), dtype="uint8", zero_point=0, low=0, high=255)
    plan = cheapest_plan(spec, AMX, problem_of(spec, np.random.default_rng(0)).weights)
    return isinstance(plan, TilePlan) and plan.copied > 0


def test_strided_convolutions_and_first_layers_are_copied() -> None:
    strided = replace(sized(17, 17, 192, 320, 3), strides=(2, 2), padding=(0, 0, 0, 0))
    assert _chosen(strided)
    assert _chosen(replace(sized(224, 224, 3, 32, 3), strides=(2, 2)))
    assert _chosen(replace(sized(224, 224, 3, 64, 7), strides=(2, 2)))
    assert not _chosen(sized(17, 17, 192, 192, 3))
    wide = replace(sized(17, 17, 192, 192, 3), kernel_height=1, padding=(0, 1, 0, 1))
    assert not _chosen(wide)


@needs_native_vnni
def test_tasks_share_copies_and_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    use_soft_tiles(monkeypatch)
    spec = replace(SPEC, in_height=17, in_width=17, in_channels=192, strides=(2, 2))
    problem = problem_of(replace(spec, out_channels=320), np.random.default_rng(0))
    spec, plan = problem.spec, cut_copied(problem.spec)
    assert plan is not None
    function, inputs = arguments(problem, plan)
    assert function.script().count("T.parallel(") == 2
    got = run_on("cascadelake", function, inputs, spec.out_shape, spec.output.dtype)
    np.testing.assert_array_equal(got, problem.result)
