from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.x86.depthwise_plan import (
    BYTE_DOT,
    WORD_DOT,
    WORD_PRODUCT,
    Dot,
    Plan,
    choose_dot,
    choose_plan,
)
from tests.legalize.kernels.x86.test_depthwise import SPEC, with_channels


@pytest.mark.parametrize(
    ("weights", "has_vnni", "expected"),
    [
        ((-128, 127), True, BYTE_DOT),
        ((-128, 128), True, WORD_DOT),
        ((-129, 127), True, WORD_DOT),
        ((-1, 1), False, WORD_PRODUCT),
    ],
)
def test_choice_of_the_instruction(weights: tuple[int, int], has_vnni: bool, expected: Dot) -> None:
    assert choose_dot(np.array(weights, np.int64), has_vnni) is expected


@pytest.mark.parametrize("channels", [*range(1, 40), 63, 64, 65, 96, 100, 144, 1000])
def test_sections_cover_every_channel(channels: int) -> None:
    plan = Plan(with_channels(channels), BYTE_DOT, 1, 1)
    lanes = plan.lane_channels()
    assert lanes.shape == (plan.vectors(), 16)
    assert set(lanes[lanes >= 0]) == set(range(channels))
    assert lanes.max() < channels


def test_rows_of_the_window_share_cells() -> None:
    """Two output rows of a 3 by 3 window read four rows, which are one cell of bytes."""
    plan = Plan(SPEC, BYTE_DOT, 2, 1)
    assert plan.row_offsets == (0, 1, 2, 3)
    assert plan.products == ((0, 0), (1, 0))
    assert [plan.kernel_row(0, 0, slot) for slot in range(4)] == [0, 1, 2, -1]
    assert [plan.kernel_row(1, 0, slot) for slot in range(4)] == [-1, 0, 1, 2]


def test_dilated_rows_keep_their_distance() -> None:
    plan = Plan(replace(SPEC, dilation=(3, 1)), BYTE_DOT, 2, 1)
    assert plan.row_offsets == (0, 1, 3, 4, 6, 7)
    assert [plan.kernel_row(1, 0, slot) for slot in range(4)] == [-1, 0, -1, 1]


def test_choice_is_the_same_every_time_and_fits_the_registers() -> None:
    for channels, stride in [(32, 1), (64, 2), (144, 1), (1024, 1)]:
        spec = with_channels(channels, strides=(stride, stride))
        plan = choose_plan(spec, BYTE_DOT)
        choose_plan.cache_clear()
        assert choose_plan(spec, BYTE_DOT) == plan
        assert plan.rows * plan.tiles <= 6
