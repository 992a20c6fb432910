"""Constants of a convolution in the layout of AMX's tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from legalize.kernels.ir.vectors import DWORD, Array
from legalize.kernels.isa import amx
from legalize.kernels.isa.x86 import AVX512_VNNI

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.amx.plan import TilePlan

_LANES = AVX512_VNNI.lanes


def tile_configuration(plan: TilePlan) -> npt.NDArray[np.uint8]:
    """Return the shapes of the thread's tiles, as ldtilecfg loads them."""
    k_steps = plan.chunk // DWORD
    sums, data, weights = (plan.rows, 4 * _LANES), (plan.rows, plan.chunk), (k_steps, 4 * _LANES)
    return amx.configuration([sums] * 4 + [data] * 2 + [weights] * 2)


def lay_out_chunks(plan: TilePlan, kernel: Array, lanes: Array) -> npt.NDArray[np.int8]:
    """Order weights by block of channels, run, chunk, vector, K-step, lane, byte.

    Args:
        plan: how the convolution is cut.
        kernel: int8 [channels, runs, run_length].
        lanes: the channel of each lane, [vectors, lanes]; -1 takes zeros.
    """
    channels, runs, length = kernel.shape
    chunks = np.zeros((channels + 1, runs, plan.chunks, plan.chunk), np.int8)
    for number in range(plan.chunks):
        start = number * plan.chunk
        first = min(start, length - plan.chunk)
        chunks[:-1, :, number, start - first :] = kernel[:, :, start : first + plan.chunk]
    chunks = chunks.reshape(channels + 1, runs * plan.chunks, plan.chunk // DWORD, DWORD)
    blocks = []
    for section in plan.tiling:
        stop = section.first_vector + section.blocks * section.nr
        block = chunks[lanes[section.first_vector : stop]]
        block = block.reshape(section.blocks, section.nr, _LANES, *chunks.shape[1:])
        blocks.append(block.transpose(0, 3, 1, 4, 2, 5).reshape(-1))
    return np.concatenate(blocks)
