from dataclasses import replace
from pathlib import Path

import numpy as np

from legalize.kernels.conv2d.mcu.helium.kernel import loop_of, packed_rows, span_of
from legalize.kernels.conv2d.mcu.rules import plan_helium
from legalize.kernels.conv2d.plan import Ready
from legalize.kernels.isa.helium_sums import COLUMNS, FEW, MANY, ONE, ONE_ROWS
from tests.support import mcu
from tests.support.convolutions import SPEC, Problem, problem_of, random_problem

POINTWISE = replace(SPEC, in_channels=64, kernel_height=1, kernel_width=1)


def planned(problem: Problem) -> Ready | None:
    return plan_helium(problem.spec, problem.weights)


@mcu.emulated
def test_equals_the_definition(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    drawn = [random_problem(rng, ("tflite", "upward", "float64")) for _ in range(150)]
    # Rows of several vectors, and of rests of all kinds; dense layers; borders on each side.
    for channels, outputs in ((64, 10), (144, 7), (40, 12), (13, 4), (640, 8)):
        spec = replace(SPEC, in_channels=channels, out_channels=outputs)
        pointwise = replace(spec, kernel_height=1, kernel_width=1)
        drawn.append(problem_of(pointwise, rng))
        drawn.append(problem_of(replace(pointwise, in_height=1, in_width=1), rng))
    for padding in ((1, 1, 1, 1), (0, 2, 1, 0)):
        drawn.append(problem_of(replace(SPEC, padding=padding, strides=(2, 1)), rng))
    # Neighbours that share data: one tap's vectors, several, more than in an iteration.
    for channels in (16, 32, 80, 128):
        spec = replace(SPEC, in_channels=channels, padding=(1, 1, 1, 1), strides=(2, 1))
        drawn.append(problem_of(spec, rng))
        drawn.append(problem_of(replace(spec, batch=2, kernel_width=2, kernel_height=1), rng))
        drawn.append(problem_of(replace(spec, in_width=3, padding=(0, 0, 0, 2)), rng))
    assert len(mcu.check_problems("cortex-m55", drawn, planned, tmp_path)) > 20


def code_of(problem: Problem) -> str:
    plan = planned(problem)
    assert plan is not None
    return mcu.assembly_of(plan.build(), "cortex-m55")


def test_sixteen_products_are_added_at_a_time_and_nothing_is_called() -> None:
    code = code_of(problem_of(POINTWISE, np.random.default_rng(4)))
    for instruction in ("vmlav.s8", "vmlava.s8", "vmulh.s32", "vqshl.s32"):
        assert instruction in code
    assert "\tbl\t" not in code


def test_neighbours_in_a_row_read_what_they_share_once() -> None:
    spec = replace(SPEC, in_channels=32, padding=(1, 1, 1, 1))
    span = span_of(spec)
    assert span is not None
    assert (span.kernel_height, span.kernel_width) == (3, 5)
    assert (span.out_height, span.out_width) == (spec.out_height, spec.out_width)
    for fields in (
        {"strides": (1, 2)},
        {"dilation": (1, 2)},
        {"in_channels": 24},
        {"kernel_width": 2},
        {"kernel_width": 4},
        {"in_width": 2},
    ):
        assert span_of(replace(spec, **fields)) is None
    # What a row of a window has, of two channels: five vectors, not nine.
    code = code_of(problem_of(spec, np.random.default_rng(6)))
    turns = [turn.partition("\n\tle\t")[0] for turn in code.split("wls\tlr")[1:]]
    counts = {(turn.count("vmlava.s8"), turn.count("vldrw.u32")) for turn in turns}
    assert counts == {(18, 11)}


def test_data_of_other_kinds_is_left_to_other_kernels() -> None:
    rng = np.random.default_rng(5)
    problem = problem_of(replace(POINTWISE, in_dtype="uint8"), rng)
    assert planned(problem) is None
    problem = problem_of(POINTWISE, rng, kernel_zero_point=3)
    assert planned(problem) is None


def test_rows_are_as_loops_read_them() -> None:
    rows = np.arange(6)[:, None].repeat(18, axis=1).astype(np.int8)
    # Of sums of any size nothing is filled; two channels of four are read together.
    packed = packed_rows(replace(POINTWISE, in_channels=18), rows).reshape(8, 18)
    assert packed[:, 0].tolist() == [0, 2, 1, 3, 4, 0, 5, 0]
    # What is gathered is filled to vectors of zeros.
    window = replace(POINTWISE, in_channels=9, kernel_width=2)
    steps = packed_rows(window, rows).reshape(4, 2, 2, 16)
    assert steps[0, :, :, 0].tolist() == [[0, 2], [0, 2]]
    assert steps[2].sum(axis=-1).tolist() == [[64, 0], [8, 0]]
    single = replace(POINTWISE, in_channels=16, in_height=1, in_width=1)
    assert packed_rows(single, rows[:4, :16]).reshape(4, 16)[:, 0].tolist() == [0, 1, 2, 3]


def test_loops_are_those_of_few_vectors_of_shared_columns_or_of_any_size() -> None:
    window = replace(SPEC, in_channels=16, padding=(1, 1, 1, 1))
    for spec, name in (
        (POINTWISE, FEW[4]),
        (replace(POINTWISE, in_channels=8), FEW[1]),
        (replace(POINTWISE, in_channels=24), MANY),
        (replace(POINTWISE, in_channels=80), MANY),
        (replace(SPEC, in_channels=3), FEW[2]),
        (window, COLUMNS),
        (replace(window, strides=(2, 2)), MANY),
        (replace(POINTWISE, in_height=1, in_width=1), ONE[4]),
        (replace(POINTWISE, in_height=1, in_width=1, in_channels=24), ONE_ROWS),
    ):
        assert loop_of(spec) == name
