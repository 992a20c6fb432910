from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.depthwise.x86.plan import (
    Cells,
    Plan,
    Section,
    choose_cells,
    choose_plan,
)
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, ISAS, SSE41, Isa
from tests.legalize.kernels.depthwise.x86.test_kernel import SPEC, with_channels
from tests.support.errors import giving

test_choice_of_the_cells = giving(
    lambda weights, isa: choose_cells(np.array(weights, np.int64).reshape(1, 2, 1), isa),
    ((-128, 127), AVX512_VNNI, Cells(4)),
    ((-128, 128), AVX512_VNNI, Cells(4, ((0, 1),))),
    ((-256, 254), AVX_VNNI, Cells(4, ((0, 0), (0, 1)))),
    ((0, 255), AVX_VNNI, Cells(2)),
    ((-1, 1), AVX_VNNI, Cells(4)),
    ((-1, 1), AVX512BW, Cells(2)),
    ((-1, 1), SSE41, Cells(2)),
)


@pytest.mark.parametrize("isa", [AVX512_VNNI, AVX2, SSE41], ids=lambda isa: isa.name)
@pytest.mark.parametrize("channels", [*range(1, 40), 63, 64, 65, 96, 100, 144, 1000])
def test_sections_cover_every_channel(channels: int, isa: Isa) -> None:
    plan = Plan(with_channels(channels), isa, Cells(2), 1, 1)
    lanes = plan.lane_channels()
    assert lanes.shape == (plan.vectors(), isa.lanes)
    assert set(lanes[lanes >= 0]) == set(range(channels))
    assert lanes.max() < channels


def test_the_last_narrow_block_overlaps_the_one_before_in_the_same_loop() -> None:
    plan = Plan(with_channels(20), AVX512_VNNI, Cells(4), 1, 1)
    assert plan.sections == (Section(0, 2, 16, 16, 4),)
    assert plan.sections[0].overlaps


@pytest.mark.parametrize(
    ("batch", "size", "channels", "stride", "widths"),
    [
        (1, 112, 96, 2, (32,)),
        (1, 56, 144, 2, (64, 16)),  # loads of four parts would cost more than the second loop
        (1, 3, 52, 1, (64,)),  # one vector with empty lanes
        (1, 6, 24, 1, (32,)),
        (1, 6, 112, 1, (64,)),  # the second block overlaps the first
        (1, 6, 72, 1, (32,)),
        (8, 6, 72, 1, (64, 16)),  # eight images take as long as a larger one
    ],
)
def test_a_width_is_left_out_if_that_costs_little(
    batch: int, size: int, channels: int, stride: int, widths: tuple[int, ...]
) -> None:
    spec = with_channels(
        channels, batch=batch, in_height=size, in_width=size, strides=(stride, stride)
    )
    plan = choose_plan(spec, AVX512_VNNI, Cells(4))
    assert plan.widths == tuple(section.width for section in plan.sections) == widths


def test_rows_of_the_window_share_cells() -> None:
    """Two output rows of a 3 by 3 window read four rows, which are one cell of bytes."""
    plan = Plan(SPEC, AVX512_VNNI, Cells(4), 2, 1)
    assert plan.row_offsets == (0, 1, 2, 3)
    assert plan.pairs == ((0, 0), (1, 0))
    assert plan.products == tuple((column, row, 0, 0) for column in range(3) for row in (0, 1))
    assert [plan.kernel_row(0, 0, slot) for slot in range(4)] == [0, 1, 2, -1]
    assert [plan.kernel_row(1, 0, slot) for slot in range(4)] == [-1, 0, 1, 2]


def test_only_taps_of_large_weights_have_two_products() -> None:
    plan = Plan(replace(SPEC, strides=(2, 2)), AVX512_VNNI, Cells(4, ((1, 2),)), 1, 1)
    assert plan.products == ((0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0), (2, 0, 0, 1))


def test_a_loop_over_columns_has_two_products_for_all() -> None:
    spec = replace(SPEC, kernel_height=11, kernel_width=11)
    plan = Plan(spec, AVX512_VNNI, Cells(4, ((1, 2),)), 1, 1)
    assert not plan.is_unrolled
    assert len(plan.products) == 11 * 3 * 2


def test_dilated_rows_keep_their_distance() -> None:
    plan = Plan(replace(SPEC, dilation=(3, 1)), AVX512_VNNI, Cells(4), 2, 1)
    assert plan.row_offsets == (0, 1, 3, 4, 6, 7)
    assert [plan.kernel_row(1, 0, slot) for slot in range(4)] == [-1, 0, -1, 1]


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_choice_is_the_same_every_time_and_fits_the_registers(isa: Isa) -> None:
    for channels, stride in [(32, 1), (64, 2), (144, 1), (1024, 1)]:
        spec = with_channels(channels, strides=(stride, stride))
        plan = choose_plan(spec, isa, Cells(2))
        choose_plan.cache_clear()
        assert choose_plan(spec, isa, Cells(2)) == plan
        assert 4 * plan.rows * plan.tiles <= isa.registers


@pytest.mark.parametrize(("stride", "rows"), [(1, 2), (2, 1)])
def test_rows_are_taken_together_where_their_cells_are_the_same(stride: int, rows: int) -> None:
    spec = with_channels(64, strides=(stride, stride), in_height=56, in_width=56)
    assert choose_plan(spec, AVX512_VNNI, Cells(4)).rows == rows
