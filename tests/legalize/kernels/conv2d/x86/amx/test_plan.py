from dataclasses import replace

import numpy as np
import pytest

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.cost import terms
from legalize.kernels.conv2d.x86.amx.plan import TilePlan, cut, cut_to_width, plan
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.tiling import lane_channels
from legalize.kernels.isa.x86 import AMX, AVX512_VNNI, Isa
from tests.support.convolutions import SPEC as SMALL
from tests.support.convolutions import random_problem

SPEC = replace(SMALL, in_dtype="uint8", staged_dtype="uint8", padding=(1, 1, 1, 1))


def sized(height: int, width: int, channels: int, out_channels: int, kernel: int) -> ConvSpec:
    pad = kernel // 2
    return replace(
        SPEC,
        in_height=height,
        in_width=width,
        in_channels=channels,
        out_channels=out_channels,
        kernel_height=kernel,
        kernel_width=kernel,
        padding=(pad, pad, pad, pad),
    )


def test_pixels_at_one_distance_are_one_stretch() -> None:
    tiles = cut(sized(35, 35, 192, 64, 1))
    assert (tiles.lines, tiles.line_pixels, tiles.real_pixels) == (1, 35 * 35, 35 * 35)
    assert (tiles.pitch, tiles.chunk, tiles.chunks) == (192, 64, 3)
    (section,) = tiles.tiling
    assert (tiles.tiles, tiles.turns_of_block(section), tiles.turns(section)) == (77, 77, 77)


@pytest.mark.parametrize(
    ("nr", "out_channels", "shapes"),
    [
        (4, 128, [(2, 4, 1)]),
        (2, 128, [(4, 2, 2)]),
        (1, 128, [(8, 1, 4)]),
        # What is left of the channels has fewer vectors, and more tiles of pixels.
        (4, 112, [(1, 4, 1), (1, 3, 1)]),
        (4, 72, [(1, 4, 1), (1, 1, 4)]),
        (2, 72, [(2, 2, 2), (1, 1, 4)]),
    ],
)
def test_a_turn_has_at_most_four_tiles_of_sums(
    nr: int, out_channels: int, shapes: list[tuple[int, int, int]]
) -> None:
    plan = cut_to_width(sized(14, 14, 64, out_channels, 1), nr)
    found = [(part.blocks, part.nr, plan.tiles_at_once(part)) for part in plan.tiling]
    assert found == shapes


def test_short_sums_take_four_vectors_of_a_pixel_and_long_ones_two() -> None:
    assert {part.nr for part in cut(sized(28, 28, 128, 512, 1)).tiling} == {4}
    assert {part.nr for part in cut(sized(14, 14, 1024, 256, 1)).tiling} == {2}


def test_pixels_that_are_read_again_and_again_take_one_vector_where_sums_are_long() -> None:
    spec = replace(sized(17, 17, 192, 192, 7), kernel_width=1, padding=(3, 0, 3, 0))
    plan = cut(spec)
    assert {part.nr for part in plan.tiling} == {1}
    # The weights of two vectors, and data, take more than the nearest cache has.
    assert terms(plan).passing_tiles == 0 < terms(cut_to_width(spec, 2)).passing_tiles


@pytest.mark.parametrize(
    ("height", "width", "rows", "count"), [(7, 7, 13, 4), (14, 14, 16, 13), (3, 3, 9, 1)]
)
def test_tiles_have_the_fewest_rows_that_make_no_more_of_them(
    height: int, width: int, rows: int, count: int
) -> None:
    tiles = cut(sized(height, width, 64, 64, 1))
    assert (tiles.rows, tiles.tiles) == (rows, count)


def test_pixels_are_numbered_through_the_padding() -> None:
    tiles = cut(sized(14, 14, 64, 64, 3))
    assert (tiles.lines, tiles.row_pixels, tiles.real_pixels) == (1, 16, 14)
    assert tiles.line_pixels == 13 * 16 + 14
    batch = cut(replace(sized(14, 14, 64, 64, 3), batch=3))
    assert (batch.lines, batch.line_pixels) == (3, tiles.line_pixels)


def test_rows_are_stretches_of_their_own_where_strides_skip_some() -> None:
    tiles = cut(replace(sized(19, 19, 288, 384, 3), strides=(2, 2), padding=(0, 0, 0, 0)))
    assert (tiles.lines, tiles.line_pixels, tiles.pitch) == (9, 9, 2 * 288)
    assert tiles.tiles == 9


def test_what_sixteen_pixels_of_a_row_leave_over_is_taken_down_the_image() -> None:
    spec = sized(17, 17, 128, 128, 3)
    tiles = cut(replace(spec, kernel_height=1, padding=(0, 3, 0, 3), kernel_width=7))
    assert (tiles.lines, tiles.line_pixels, tiles.columns) == (17, 16, 1)
    # 25 if they were numbered through the padding.
    assert (tiles.tiles, tiles.tiles_across, tiles.tiles_per_column) == (19, 17, 2)
    strided = cut(replace(sized(35, 35, 288, 384, 3), strides=(2, 2), padding=(0, 0, 0, 0)))
    assert (strided.lines, strided.columns, strided.tiles) == (17, 1, 19)
    # Two tiles fewer, but nine of them cost more.
    assert cut(sized(35, 35, 96, 96, 3)).columns == 0
    assert cut(sized(9, 17, 96, 96, 3)).columns == 0  # a column is lower than a tile


@pytest.mark.parametrize(
    ("channels", "kernel", "chunk", "chunks"),
    [
        *((64, 1, 64, 1), (80, 1, 40, 2), (3, 3, 8, 2), (27, 1, 24, 2), (65, 1, 36, 2)),
        # Nearly full ones are full.
        *((144, 1, 48, 3), (112, 1, 64, 2), (48, 5, 64, 4), (60, 1, 60, 1)),
    ],
)
def test_chunks_are_of_one_size_and_no_longer_than_a_run(
    channels: int, kernel: int, chunk: int, chunks: int
) -> None:
    tiles = cut(sized(9, 9, channels, 16, kernel))
    assert (tiles.chunk, tiles.chunks) == (chunk, chunks)


def test_every_pixel_is_in_a_tile_and_no_tile_reads_past_the_data() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        spec = replace(random_problem(rng, ("tflite",)).spec, staged_dtype="uint8")
        tiles = cut(spec)
        _, height, width, channels = spec.staged_shape
        assert tiles.rows <= tiles.line_pixels
        covered = tiles.tiles_per_line * tiles.rows
        assert tiles.line_pixels <= covered < tiles.line_pixels + tiles.rows
        rows, rest = divmod(tiles.line_pixels - 1, tiles.row_pixels)
        real = tiles.lines * (rows * tiles.real_pixels + min(rest + 1, tiles.real_pixels))
        down = spec.batch * spec.out_height * tiles.columns
        assert real + down == spec.out_pixels
        assert tiles.columns == 0 or tiles.rows <= spec.out_height
        assert tiles.chunk <= min(spec.run_length, 64)
        assert tiles.chunk * tiles.chunks >= spec.run_length
        # The last byte of a stretch that begins at 0.
        reach = spec.dilation[0] * (spec.kernel_height - 1) * width * channels
        reach += spec.dilation[1] * (spec.kernel_width // spec.taps_per_run - 1) * channels
        last = (tiles.line_pixels - 1) * tiles.pitch + reach + spec.run_length
        assert last <= spec.batch * height * width * channels


def planned(spec: ConvSpec, isa: Isa = AMX) -> TilePlan | None:
    """Return the plan, if it takes less than vectors."""
    weights = Weights(np.zeros(0, np.int8))
    return plan(spec, isa, weights, dot_plan(spec, AVX512_VNNI).cost)


def test_large_sums_go_to_tiles_and_small_ones_do_not() -> None:
    assert planned(sized(17, 17, 768, 192, 1)) is not None
    assert planned(sized(56, 56, 64, 64, 3)) is not None
    # A row of one pixel, and short sums.
    assert planned(sized(1, 1, 2048, 1000, 1)) is None
    assert planned(sized(48, 48, 8, 16, 1)) is None
    assert planned(replace(sized(17, 17, 768, 192, 1), staged_dtype="int16")) is None
    assert planned(sized(17, 17, 768, 192, 1), AVX512_VNNI) is None


def test_chunks_hold_each_weight_once() -> None:
    rng = np.random.default_rng(0)
    # Runs of 2 · 35 bytes in chunks of 36: the second one begins with two that the first one had.
    spec = replace(SPEC, in_channels=35, kernel_height=3, kernel_width=2, out_channels=40)
    tiles = cut_to_width(spec, 2)
    assert (tiles.chunk, tiles.chunks) == (36, 2)
    lanes = lane_channels(spec, AVX512_VNNI, tiles.tiling)
    kernel = rng.integers(-128, 128, (40, 3, 70), dtype=np.int8)
    weights = tiles.lay_out(kernel, lanes).weights
    first, last = tiles.tiling
    assert (first.blocks, first.nr, last.blocks, last.nr) == (1, 2, 1, 1)
    # [run, chunk, vector, K-step, lane, byte] of each block
    size = 3 * 2 * 36 * 16
    blocks = [weights[: 2 * size].reshape(3, 2, 2, 9, 16, 4)]
    blocks.append(weights[2 * size :].reshape(3, 2, 1, 9, 16, 4))
    found = np.concatenate([block.transpose(2, 4, 0, 1, 3, 5) for block in blocks])
    runs = found.reshape(3, 16, 3, 2, 36)
    for vector, channels in enumerate(lanes):
        for lane, channel in enumerate(channels):
            expected = kernel[channel] if channel >= 0 else np.zeros((3, 70), np.int8)
            own = runs[vector, lane]
            np.testing.assert_array_equal(own[:, 0], expected[:, :36])
            np.testing.assert_array_equal(own[:, 1, 2:], expected[:, 36:])
            assert not own[:, 1, :2].any()


def test_configuration_tells_rows_and_bytes() -> None:
    tiles = cut(SPEC)
    memory = tiles.configuration
    assert memory.size == 64
    assert memory[0] == 1
    rows, k_steps = tiles.rows, tiles.chunk // 4
    assert memory[48:].tolist() == [rows] * 6 + [k_steps] * 2 + [0] * 8
    widths = memory[16:48].view(np.uint16).tolist()
    assert widths == [64] * 4 + [tiles.chunk] * 2 + [64] * 2 + [0] * 8
