from dataclasses import replace
from math import inf

import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.rules import cheapest_plan
from legalize.kernels.conv2d.x86.tiling import lane_channels, registers_of
from legalize.kernels.conv2d.x86.winograd.plan import (
    WinogradPlan,
    cut,
    plan,
)
from legalize.kernels.conv2d.x86.winograd.transform import transform_weights
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, SSE41, Isa, WordProducts
from qnn_ops.arrays import Array
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.support.convolutions import changed

SHAPES = [(56, 56, 64, 64), (35, 35, 96, 96), (7, 9, 32, 40), (2, 2, 64, 16), (5, 2, 32, 8)]


def plan_of(spec: ConvSpec, isa: Isa = AVX2) -> WinogradPlan:
    found = cut(spec, isa)
    assert found is not None
    return found


def choice(spec: ConvSpec, kernel: Array | None = None, isa: Isa = AVX2) -> WinogradPlan | None:
    shape = spec.out_channels, spec.kernel_height, spec.kernel_width, spec.in_channels
    kernel = np.ones(shape, np.int8) if kernel is None else kernel
    return plan(spec, isa, Weights(kernel), inf)


@pytest.mark.parametrize("isa", [AVX512BW, AVX2, SSE41], ids=lambda isa: isa.name)
@pytest.mark.parametrize("shape", SHAPES)
def test_tiles_cover_the_output_and_fit_the_registers(
    shape: tuple[int, int, int, int], isa: Isa
) -> None:
    spec = replace(sized(*shape, 3), batch=2)
    spec = replace(spec, in_channels=max(spec.in_channels, 2 * isa.lanes))
    found = plan_of(spec, isa)
    assert 0 <= 2 * found.rows - spec.out_height < 2
    assert 0 <= 2 * found.columns - spec.out_width < 2
    assert found.tiles == 2 * found.rows * found.columns
    assert 0 <= found.panels * found.panel - found.tiles < found.panel
    covered = [section.first_vector for section in found.tiling]
    covered.append(isa.vectors(spec.out_channels))
    assert covered[0] == 0
    for section, after in zip(found.tiling, covered[1:], strict=True):
        assert section.first_vector + section.blocks * section.nr == after
        assert 1 <= section.mr <= found.panel
        assert registers_of(WordProducts(isa), section.nr, section.mr) <= isa.registers


@pytest.mark.parametrize(
    ("shape", "group"), [((35, 35, 96, 96), 14), ((35, 35, 64, 96), 14), ((28, 28, 128, 128), 13)]
)
def test_groups_are_equal_where_that_costs_little(
    shape: tuple[int, int, int, int], group: int
) -> None:
    assert plan_of(sized(*shape, 3), AVX512_VNNI).group == group


def test_the_same_plan_every_time() -> None:
    spec = sized(35, 35, 96, 96, 3)
    found = plan_of(spec)
    cut.cache_clear()
    assert plan_of(spec) == found


def test_positions_are_an_odd_number_of_cache_lines_apart() -> None:
    """Powers of two would put a tile's values of all positions in the same sets of a cache."""
    found = plan_of(sized(56, 56, 64, 64, 3))
    for tile_bytes in (64, 128, 96, 1024):
        stride = found.stride(tile_bytes)
        assert stride >= found.group * tile_bytes
        assert stride % 128 == 64


@pytest.mark.parametrize("shape", [(56, 56, 64, 64), (14, 14, 256, 256), (8, 8, 448, 384)])
def test_there_are_tasks_for_threads_and_little_is_done_twice(
    shape: tuple[int, int, int, int],
) -> None:
    spec = sized(*shape, 3)
    found = plan_of(spec)
    tasks = found.tasks
    assert 4 <= tasks <= found.panels * found.blocks
    once = found.units
    data = found.tiles * 16 * spec.in_channels / 16 * 4
    again = max(0, tasks - found.panels) * data / found.panels
    assert again < 0.06 * once


@pytest.mark.parametrize(
    ("shape", "kernel", "is_chosen"),
    [
        ((56, 56, 64, 64), 3, True),
        ((14, 14, 256, 256), 3, True),
        ((8, 8, 64, 64), 3, True),
        # So many weights that reading them takes what the products save.
        ((7, 7, 512, 512), 3, False),
        # No transform; and channels that do not fill vectors.
        ((56, 56, 64, 64), 1, False),
        ((35, 35, 48, 64), 5, False),
        ((56, 56, 40, 64), 3, False),
    ],
)
def test_it_is_chosen_where_it_takes_less(
    shape: tuple[int, int, int, int], kernel: int, is_chosen: bool
) -> None:
    assert (choice(sized(*shape, kernel)) is not None) == is_chosen


@pytest.mark.parametrize(
    ("shape", "is_chosen"),
    [
        ((56, 56, 64, 64), True),
        # Half a vector of words at the end.
        ((71, 71, 80, 192), True),
        # So many weights that reading them takes what the products save.
        ((14, 14, 256, 256), False),
        # Few pixels: tiles of 4 × 4 compute more than there are.
        ((7, 7, 64, 64), False),
        ((56, 56, 16, 64), False),
        ((56, 56, 40, 64), False),
    ],
)
def test_beside_byte_products_it_is_chosen_where_it_takes_less(
    shape: tuple[int, int, int, int], is_chosen: bool
) -> None:
    spec = sized(*shape, 3)
    kernel = np.ones((spec.out_channels, 3, 3, spec.in_channels), np.int8)
    found = cheapest_plan(spec, AVX512_VNNI, Weights(kernel))
    assert isinstance(found, WinogradPlan) == is_chosen
    assert not isinstance(cheapest_plan(spec, AVX_VNNI, Weights(kernel)), WinogradPlan)


def test_beside_byte_products_outputs_must_come_back_to_int32() -> None:
    spec = sized(20, 20, 128, 64, 3)
    shape = spec.out_channels, 3, 3, spec.in_channels
    assert choice(spec, np.full(shape, 114, np.int8), AVX512_VNNI) is not None
    assert choice(spec, np.full(shape, 115, np.int8), AVX512_VNNI) is None


def test_it_is_not_chosen_where_sums_could_leave_int32() -> None:
    spec = sized(20, 20, 960, 32, 3)
    shape = spec.out_channels, 3, 3, spec.in_channels
    assert choice(spec) is not None
    assert choice(spec, np.full(shape, 127, np.int8)) is None


def test_each_weight_is_where_the_kernel_reads_it() -> None:
    # A ragged vector, and a block of one vector.
    spec = changed(sized(6, 6, 16, 36, 3), dtype="uint8")
    planned = plan_of(spec)
    lanes = lane_channels(spec, AVX2, planned.tiling)
    rng = np.random.default_rng(0)
    kernel = rng.integers(-255, 256, (36, 3, 3, 16))
    packed = planned.lay_out(kernel, lanes).weights
    weights = transform_weights(planned.transform, kernel)
    assert packed.dtype == np.int16
    assert packed.size == lanes.size * 16 * 16
    for section in planned.tiling:
        for block in range(section.blocks):
            first_vector = section.first_vector + block * section.nr
            size = section.nr * 8 * 16 * 16
            start = first_vector * 8 * 16 * 16
            read = packed[start : start + size].reshape(16, 8, section.nr, 8, 2)
            for vector in range(section.nr):
                for lane, channel in enumerate(lanes[first_vector + vector]):
                    own = read[:, :, vector, lane].reshape(16, 16)
                    wanted = weights[channel] if channel >= 0 else np.zeros((16, 16))
                    np.testing.assert_array_equal(own, wanted)
