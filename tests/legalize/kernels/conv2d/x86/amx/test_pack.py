from dataclasses import replace

import numpy as np

from legalize.kernels.conv2d.x86.amx.pack import lay_out_chunks, tile_configuration
from legalize.kernels.conv2d.x86.amx.plan import cut, cut_to_width
from legalize.kernels.conv2d.x86.tiling import lane_channels
from legalize.kernels.isa.x86 import AVX512_VNNI
from tests.support.convolutions import SPEC as SMALL

# Runs of 2 · 35 bytes in chunks of 36: the second one begins with two that the first one had.
SPEC = replace(
    SMALL, in_channels=35, kernel_height=3, kernel_width=2, out_channels=40, staged_dtype="uint8"
)


def test_chunks_hold_each_weight_once() -> None:
    rng = np.random.default_rng(0)
    plan = cut_to_width(SPEC, 2)
    assert (plan.chunk, plan.chunks) == (36, 2)
    lanes = lane_channels(SPEC, AVX512_VNNI, plan.tiling)
    kernel = rng.integers(-128, 128, (40, 3, 70), dtype=np.int8)
    weights = lay_out_chunks(plan, kernel, lanes)
    first, last = plan.tiling
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
    plan = cut(SPEC)
    memory = tile_configuration(plan)
    assert memory.size == 64
    assert memory[0] == 1
    rows, k_steps = plan.rows, plan.chunk // 4
    assert memory[48:].tolist() == [rows] * 6 + [k_steps] * 2 + [0] * 8
    widths = memory[16:48].view(np.uint16).tolist()
    assert widths == [64] * 4 + [plan.chunk] * 2 + [64] * 2 + [0] * 8
