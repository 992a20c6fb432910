"""Which products of data and weights a convolution is computed with.

Processors with vpdpbusd have one. Others multiply words, widened from bytes when the data is staged
or by each tile; or bytes by vpmaddubsw, with weights that are cut for it. How many more steps these
take is a matter of the weights, of which some blocks are looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.pairs.pack import paired_blocks
from legalize.kernels.conv2d.x86.pairs.weights import STEP_KINDS
from legalize.kernels.conv2d.x86.tiling import choose_tiling, lane_channels, prefers_words, units
from legalize.kernels.isa.x86 import Isa

Array = npt.NDArray[Any]

_BLOCKS = 4
# What pairs may cost in the units of what they replace: their loads are hidden behind fewer
# products, and the units of bytes that each tile widens count more than these take.
_WORTH_PAIRS = {"int16": 0.92, "uint8": 0.79}


def choose_products(
    spec: ConvSpec, isa: Isa, kernel_ohwi: Array, kernel_zero_point: Array
) -> tuple[ConvSpec, Isa]:
    """Choose what a convolution multiplies.

    Args:
        spec: The convolution.
        isa: The instruction set.
        kernel_ohwi: As ``pack_conv2d`` takes it.
        kernel_zero_point: Likewise.

    Returns:
        The convolution with the dtype of its staged data, and the instruction set with its
        products, as ``pack_conv2d`` and the kernels take them.
    """
    if isa.has_byte_products:
        return spec, isa
    chosen = spec, isa
    if prefers_words(spec, isa):
        chosen = replace(spec, staged_dtype="int16"), isa.of_words()
    pairs = isa.of_pairs()
    least = units(spec, pairs)
    most = _WORTH_PAIRS[chosen[0].staged_dtype] * units(*chosen)
    if least * min(kind.cost for kind in STEP_KINDS) > most:
        return chosen
    kernel = kernel_ohwi.astype(np.int16) - kernel_zero_point.astype(np.int16).reshape(-1)[0]
    return chosen if least * _step_cost(spec, pairs, kernel) > most else (spec, pairs)


def _step_cost(spec: ConvSpec, isa: Isa, kernel: Array) -> float:
    """What the listed steps of some blocks take, beside those of the sum one by one."""
    tiling = choose_tiling(spec, isa)
    section = max(tiling, key=lambda section: section.blocks * section.groups)
    missing = spec.staged_channels - spec.in_channels
    padded = np.pad(kernel, ((0, 0),) * 3 + ((0, missing),))
    lanes = lane_channels(spec, isa, tiling)
    blocks = paired_blocks(spec, isa, padded, section, lanes, _BLOCKS)
    return blocks.cost / (spec.runs * spec.steps_per_run)
