"""The division of a convolution in tiles among threads: by pixels, or by turns of all blocks.

By pixels, each thread computes the same turns of every block. It reads all weights, which come from
the third-level cache. But its own core wrote most of the data, if the layer before was divided by
pixels, too. By turns of all blocks, each thread reads a part of the weights, and the data of all
pixels. A core reads what another core wrote more slowly than it reads weights. By pixels, the turns
of a block may not halve: what one thread computes beyond a half counts as well.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.amx.cost import nanoseconds
from legalize.kernels.isa.x86 import AVX512_VNNI

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.amx.plan import TilePlan

# Bytes a nanosecond, on a Xeon with AMX.
_WEIGHTS, _OTHERS_DATA = 28.0, 10.0
# The number of threads for which the division is chosen.
_THREADS = 2
# The part of a tensor that other threads write or multiply.
_FOREIGN = 1 - 1 / _THREADS


def is_by_pixels(plan: TilePlan, section: Section) -> bool:
    """Tell whether threads divide the turns of each block of a section, by estimates.

    A section of one block has the same turns in both cases.
    """
    if section.blocks == 1:
        return False
    spec, depth = plan.spec, plan.runs * plan.chunks * plan.chunk
    weights = section.blocks * section.nr * AVX512_VNNI.lanes * depth
    written = spec.out_pixels * spec.out_channels
    added = 0 if spec.fusion.added_dtype is None else written
    moved = prod(spec.staged_shape) + written + added
    share = turns_of_thread(plan, section) / plan.turns_of_block(section)
    uneven = (share - 1 / _THREADS) * nanoseconds(plan)
    return uneven + _FOREIGN * weights / _WEIGHTS <= _FOREIGN * moved / _OTHERS_DATA


def turns_of_thread(plan: TilePlan, section: Section) -> int:
    """Return the most turns of a block that a thread computes if threads divide pixels."""
    return -(-plan.turns_of_block(section) // _THREADS)


def single_nanoseconds(plan: TilePlan) -> float:
    """Estimate the time of one thread, if several threads wrote the convolution's data."""
    data = prod(plan.spec.staged_shape)
    return nanoseconds(plan) + _FOREIGN * data / _OTHERS_DATA
