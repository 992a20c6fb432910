"""Weights that are cut for vpmaddubsw in the layout that their kernel reads."""

import numpy as np

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, Tiling
from legalize.kernels.conv2d.x86.k_steps import k_step_offsets, k_step_weights, k_step_windows
from legalize.kernels.conv2d.x86.pairs.weights import (
    K_STEP_KINDS,
    WINDOW,
    ListedKSteps,
    PairedBlocks,
    pair_weights,
)
from legalize.kernels.ir.vectors import DWORD, Array
from legalize.kernels.isa.x86 import Isa


def list_k_steps(
    spec: ConvSpec, isa: Isa, kernel: Array, tiling: Tiling, lanes: Array
) -> tuple[ListedKSteps, list[Array]]:
    """Lay out weights, and list the bytes that they multiply.

    Args:
        spec: the convolution.
        isa: the instruction set.
        kernel: w − zw, integers of shape [out_channels, KH, KW, staged_channels].
        tiling: the tiles.
        lanes: from ``lane_channels``.

    Returns:
        The facts that the kernel must know; and arrays: the weights, int8 in one row, by block,
        K-step, vector, lane and byte; the offsets of K-steps, int32 [blocks, K-steps], from a
        pixel's first K-step; for every kind the first K-step and the iterations of its loop, int32
        [blocks, kinds, 2]; and, if some K-steps are ordered, the orders of all K-steps' bytes,
        uint8 [blocks, K-steps, 4].
    """
    blocks = [paired_blocks(spec, isa, kernel, section, lanes) for section in tiling]
    count = max(part.k_steps.shape[1] for part in blocks)
    packed, numbers, orders = [], [], []
    for section, part in zip(tiling, blocks, strict=True):
        rest = ((0, 0), (0, count - part.k_steps.shape[1]))
        weights = np.pad(part.weights, ((0, 0), *rest, (0, 0)))
        weights = weights.reshape(section.blocks, section.nr, isa.lanes, count, DWORD)
        packed.append(weights.transpose(0, 3, 1, 2, 4).reshape(-1))
        numbers.append(np.pad(part.k_steps, rest))
        orders.append(np.pad(part.orders, (*rest, (0, 0))))
    places = k_step_offsets(spec)[np.concatenate(numbers)].astype(np.int32)
    counts = np.concatenate([part.counts for part in blocks])
    runs = counts // np.array([kind.at_once for kind in K_STEP_KINDS])
    loops = np.stack([np.cumsum(counts, axis=1) - counts, runs], axis=2).astype(np.int32)
    listed = ListedKSteps(count, tuple(bool(part.any()) for part in counts.T))
    arrays = [np.concatenate(packed), places, loops]
    if listed.has_orders:
        arrays.append(np.concatenate(orders))
    return listed, arrays


def paired_blocks(
    spec: ConvSpec, isa: Isa, kernel: Array, section: Section, lanes: Array, most: int | None = None
) -> PairedBlocks:
    """Cut the weights of a section's blocks; if given, of at most ``most`` evenly chosen blocks."""
    count = section.blocks if most is None else min(section.blocks, most)
    chosen = np.linspace(0, section.blocks - 1, count).astype(int) * section.nr
    vectors = section.first_vector + chosen[:, None] + np.arange(section.nr)
    channels = lanes[vectors].reshape(-1)
    # -1, an empty lane, selects the zeros.
    used, place = np.unique(channels, return_inverse=True)
    k_steps = k_step_weights(spec, kernel[used[used >= 0]])
    place = place - int(used[0] < 0)
    k_steps = k_steps[place].reshape(count, section.nr * isa.lanes, -1, DWORD)
    return pair_weights(k_steps, k_step_windows(spec, WINDOW))
