"""How a convolution by Winograd's transform is cut, and whether that is worth while.

The data of a panel of tiles is transformed at once, and stays in the second-level cache for all
blocks of output channels. For each position of the transform the panel is multiplied with a
block's weights, some tiles at a time, by the same loop as in tiling.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, Tiling, split_groups
from legalize.kernels.conv2d.x86.tiling import MICROSECONDS, registers_of, rescaling_units
from legalize.kernels.conv2d.x86.winograd.transform import (
    Transform,
    stays_in_range,
    transform_of,
    transform_weights,
)
from legalize.kernels.ir.tasks import LEAST_TASK, task_count
from legalize.kernels.isa.x86 import Isa

Array = npt.NDArray[Any]

_GROUPS = 2
_LINE = 64
_MAX_TILES = 8
# Of transformed data.
_PANEL_BYTES = 256 << 10
# In the units of tiling.py.
_STEP = 1.0
_BROADCAST = 0.25
_WEIGHTS = 0.5
_LATENCY = 10
_SUMS = 2
_LOOP = 12
# Of weights, each time a panel reads them from the second- or the third-level cache.
_NEAR_BYTE = 0.01
_FAR_BYTE = 0.03
_NEAR_BYTES = 256 << 10
# Of weights that a run reads for the first time: there are more of them than of plain ones.
_FIRST_BYTE = 0.08
# The share of a convolution's time that transforming data once more may take.
_AGAIN = 0.04
_WORTH_IT = 0.85


@dataclass(frozen=True)
class WinogradPlan:
    """How a convolution is cut.

    Attributes:
        transform: Of data, weights and outputs.
        rows: Tiles that cover the rows of an image's output; the last one overlaps.
        columns: Likewise of the columns.
        tiles: Of all images.
        panel: Tiles of a panel.
        tiling: Blocks of channels; ``pixels`` is how many tiles are multiplied at a time.
    """

    transform: Transform
    rows: int
    columns: int
    tiles: int
    panel: int
    tiling: Tiling

    @property
    def panels(self) -> int:
        """Panels that cover the tiles; the last one overlaps the one before."""
        return -(-self.tiles // self.panel)

    def stride(self, tile_bytes: int) -> int:
        """Bytes from one position's values of a panel to the next one's.

        An odd number of cache lines, so that the same tile's values of all positions are not
        in the same few places of a cache.
        """
        return (-(-self.panel * tile_bytes // _LINE) | 1) * _LINE

    @property
    def blocks(self) -> int:
        """Blocks of channels."""
        return sum(section.blocks for section in self.tiling)


def choose_winograd(
    spec: ConvSpec, isa: Isa, kernel_ohwi: Array, kernel_zero_point: Array, most: float
) -> WinogradPlan | None:
    """Cut a convolution into tiles of Winograd's transform.

    Args:
        spec: The convolution, of staged uint8.
        isa: The instruction set, ``of_words``.
        kernel_ohwi: As ``pack_conv2d`` takes it.
        kernel_zero_point: Likewise.
        most: What it takes otherwise, in the units of tiling.py.

    Returns:
        None where it does better otherwise, or a sum of products could leave int32.
    """
    plan = cut(spec, isa)
    if plan is None or winograd_units(spec, isa, plan) > _WORTH_IT * most:
        return None
    kernel = kernel_ohwi.astype(np.int16) - kernel_zero_point.astype(np.int16).reshape(-1)[0]
    weights = transform_weights(plan.transform, kernel)
    return plan if stays_in_range(plan.transform, weights) else None


@cache
def cut(spec: ConvSpec, isa: Isa) -> WinogradPlan | None:
    """Cut a convolution, worth it or not.

    Args:
        spec: The convolution.
        isa: The instruction set, ``of_words``.

    Returns:
        None where there is no transform, or channels do not fill vectors of words.
    """
    transform = transform_of(spec)
    if transform is None or spec.in_channels % (2 * isa.lanes) or spec.staged_dtype != "uint8":
        return None
    rows = -(-spec.out_height // transform.y.step)
    columns = -(-spec.out_width // transform.x.step)
    tiles = spec.batch * rows * columns
    groups = isa.vectors(spec.out_channels)
    cuts = split_groups(groups, min(groups, _GROUPS), spec.out_channels % isa.lanes != 0)
    most = _PANEL_BYTES // (2 * transform.positions * spec.in_channels)
    width = max(groups for _, _, groups in cuts)
    ways = (
        (panel, at_once)
        for at_once in range(1, min(tiles, _MAX_TILES) + 1)
        if registers_of(isa, width, at_once) <= isa.registers
        for panel in range(at_once, max(at_once, min(tiles, most)) + 1)
    )
    plans = (
        WinogradPlan(
            transform,
            rows,
            columns,
            tiles,
            panel,
            tuple(Section(first, blocks, groups, at_once) for first, blocks, groups in cuts),
        )
        for panel, at_once in ways
    )
    return min(plans, key=lambda plan: winograd_units(spec, isa, plan))


def winograd_units(spec: ConvSpec, isa: Isa, plan: WinogradPlan) -> float:
    """Estimate what a convolution takes, in the units of tiling.py."""
    transform = plan.transform
    steps = spec.in_channels // 2
    total = plan.panels * _panel_units(spec, isa, plan)
    out_channels = isa.vectors(spec.out_channels) * isa.lanes
    weights = 2 * transform.positions * spec.in_channels * out_channels
    each = _NEAR_BYTE if weights <= _NEAR_BYTES else _FAR_BYTE
    total += (plan.panels * each + _FIRST_BYTE) * weights
    for section in plan.tiling:
        groups, at_once = section.groups, section.pixels
        loads = _BROADCAST * at_once + _WEIGHTS * groups
        step = max(isa.product * at_once * groups, _LATENCY) + loads + _STEP
        products = -(-plan.panel // at_once) * (steps * step + _SUMS * at_once * groups + _LOOP)
        pixels = transform.y.step * transform.x.step
        sums = groups * transform.positions * 2.5
        ends = plan.panel * (sums + pixels * (rescaling_units(groups) + groups) + _LOOP)
        total += section.blocks * plan.panels * (transform.positions * products + ends)
    return total


def _panel_units(spec: ConvSpec, isa: Isa, plan: WinogradPlan) -> float:
    """What the transform of a panel's data takes: values loaded, added to twice, stored."""
    values = plan.transform.positions * spec.in_channels / (2 * isa.lanes)
    return 4.0 * plan.panel * values


def tasks_of(spec: ConvSpec, isa: Isa, plan: WinogradPlan) -> int:
    """How many tasks a convolution is cut into.

    Each transforms the data of every panel of which it has a block; more tasks than panels do some
    of this again, so there are few more.
    """
    total = winograd_units(spec, isa, plan)
    again = int(_AGAIN * total / _panel_units(spec, isa, plan))
    microseconds = total * MICROSECONDS
    return task_count(microseconds, max(LEAST_TASK, microseconds / (plan.panels + again)))
