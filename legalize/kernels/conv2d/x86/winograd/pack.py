"""Transformed weights in the layout that their kernel reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from legalize.kernels.conv2d.x86.winograd.transform import transform_weights
from legalize.kernels.ir.vectors import Array

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan


def lay_out_transformed(plan: WinogradPlan, kernel: Array, lanes: Array) -> Array:
    """Transform weights and lay them out.

    Args:
        plan: how the convolution is cut.
        kernel: w − zw, integers of -255 to 255, [out_channels, KH, KW, in_channels].
        lanes: from ``lane_channels``.

    Returns:
        int16 in one row, by block of output channels, position, two input channels, vector, lane,
        and which of the two.
    """
    weights = transform_weights(plan.transform, kernel)
    # -1, an empty lane, selects the zeros.
    padded = np.pad(weights, ((0, 1), (0, 0), (0, 0)))
    pairs = padded.reshape(*padded.shape[:2], -1, 2)
    packed = []
    for section in plan.tiling:
        stop = section.first_vector + section.blocks * section.nr
        block = pairs[lanes[section.first_vector : stop]]
        block = block.reshape(section.blocks, section.nr, *block.shape[1:])
        packed.append(block.transpose(0, 3, 4, 1, 2, 5).reshape(-1))
    return np.concatenate(packed)
