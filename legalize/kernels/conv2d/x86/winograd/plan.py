"""The plan of a convolution by Winograd's transform, if that pays.

The data of a panel of tiles is transformed at once, and stays in the second-level cache for all
blocks of output channels. For each position of the transform the panel is multiplied with a
block's weights, some tiles at a time, by the same loop as in tiling.py.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, split_vectors
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.pairs.plan import LEAST_K_STEP
from legalize.kernels.conv2d.x86.plan import Layout, Plan
from legalize.kernels.conv2d.x86.sizes import has_inverses
from legalize.kernels.conv2d.x86.tiling import (
    MICROSECONDS,
    by_blocks,
    registers_of,
    rescaling_units,
    units,
)
from legalize.kernels.conv2d.x86.winograd.kernel import SHARED_BYTES, WinogradKernel
from legalize.kernels.conv2d.x86.winograd.transform import (
    Transform,
    stays_in_range,
    transform_of,
    transform_weights,
    wraps_back,
)
from legalize.kernels.ir.tasks import LEAST_TASK, task_count
from legalize.kernels.ir.vectors import DWORD, Array
from legalize.kernels.isa.x86 import AVX512_VNNI, Isa, PairProducts, WordDots, WordProducts

_NR = 2
_LINE = 64
_MAX_TILES = 14
# The factor on the cost of groups of the most tiles: layers with the same group share code.
_PREFERENCE = 0.99
# The most bytes of transformed data and sums; and the same for a single panel, which reads weights
# once.
_PANEL_BYTES = 300 << 10
_ONLY_PANEL_BYTES = 384 << 10
# The cost of a K-step, in the units of tiling.py.
_K_STEP = 1.0
_BROADCAST = 0.25
_WEIGHTS = 0.5
_LATENCY = 10
_SUMS = 2
_LOOP = 12
# The cost of a weight, each time a panel reads it from the second- or the third-level cache.
_NEAR_BYTE = 0.01
_FAR_BYTE = 0.03
_NEAR_BYTES = 256 << 10
# The cost of a weight that a run reads for the first time: transformed weights are more bytes.
_FIRST_BYTE = 0.08
# The share of a convolution's time that transforming data once more may take.
_AGAIN = 0.04
_WORTH_IT = 0.85
# The transform must take less than this share of the time of byte products, if those are one
# instruction.
_WORTH_IT_BESIDE_DOTS = 0.9


@dataclass(frozen=True)
class WinogradPlan(Plan):
    """A convolution cut into panels of groups of tiles; ``mr`` of its tiling is a group's size.

    Attributes:
        transform: the transform of data, weights and outputs.
        rows: tiles that cover the rows of an image's output; the last one overlaps.
        columns: tiles that cover its columns.
        tiles: tiles of all images.
        panel: tiles of a panel, in whole groups.
    """

    transform: Transform
    rows: int
    columns: int
    tiles: int
    panel: int

    @property
    def shares_sizes(self) -> bool:
        """Whether the code reads the convolution's sizes."""
        workspace = self.panel // self.group * self.transform.positions
        fits = workspace * max(self.data_stride, self.sums_stride) <= SHARED_BYTES
        return self.spec.fusion.is_shared and fits and has_inverses(self.spec)

    @property
    def group(self) -> int:
        """Tiles of a group, which are multiplied together."""
        return self.tiling[0].mr

    @property
    def panels(self) -> int:
        """Panels that cover the tiles; the last one overlaps the one before."""
        return -(-self.tiles // self.panel)

    def stride(self, tile_bytes: int) -> int:
        """Return the bytes from one position's values of a group to the next one's.

        It is an odd number of cache lines, so that a tile's values of all positions are not in the
        same few sets of a cache.
        """
        return (-(-self.group * tile_bytes // _LINE) | 1) * _LINE

    @property
    def data_stride(self) -> int:
        """Bytes from one position's data of a group to the next one's, in whole chunks."""
        words = 2 * self.products.isa.lanes
        return self.stride(2 * words * -(-self.spec.in_channels // words))

    @property
    def sums_stride(self) -> int:
        """Bytes from one position's sums of a group to the next one's."""
        nr = max(section.nr for section in self.tiling)
        return self.stride(4 * nr * self.products.isa.lanes)

    @property
    def blocks(self) -> int:
        """Blocks of channels."""
        return sum(section.blocks for section in self.tiling)

    @property
    def units(self) -> float:
        """Estimate the cost of the convolution, in the units of tiling.py."""
        spec, isa, transform = self.spec, self.products.isa, self.transform
        k_steps = spec.in_channels // 2
        total = self.panels * self._panel_units
        out_channels = isa.vectors(spec.out_channels) * isa.lanes
        weights = 2 * transform.positions * spec.in_channels * out_channels
        each = _NEAR_BYTE if weights <= _NEAR_BYTES else _FAR_BYTE
        total += (self.panels * each + _FIRST_BYTE) * weights
        for section in self.tiling:
            nr, at_once = section.nr, section.mr
            loads = _BROADCAST * at_once + _WEIGHTS * nr
            k_step = max(self.products.instructions * at_once * nr, _LATENCY) + loads + _K_STEP
            products = self.panel // at_once * (k_steps * k_step + _SUMS * at_once * nr + _LOOP)
            pixels = transform.y.tile_outputs * transform.x.tile_outputs
            sums = nr * transform.positions * 2.5
            ends = self.panel * (sums + pixels * (rescaling_units(spec, nr) + nr) + _LOOP)
            total += section.blocks * self.panels * (transform.positions * products + ends)
        return total

    @property
    def _panel_units(self) -> float:
        """The cost of a panel's transform: values loaded, added to twice, stored."""
        values = self.transform.positions * self.spec.in_channels / (2 * self.products.lanes)
        return 4.0 * self.panel * values

    @property
    def tasks(self) -> int:
        """The number of tasks into which the convolution is cut.

        Each task transforms the data of every panel of which it computes a block. More tasks than
        panels repeat some of this work, so there are only a few more.
        """
        total = self.units
        again = int(_AGAIN * total / self._panel_units)
        microseconds = total * MICROSECONDS
        return task_count(microseconds, max(LEAST_TASK, microseconds / (self.panels + again)))

    @property
    def factors(self) -> tuple[int, ...]:
        """The factor of the transform, or 1 for divided sums."""
        return (self.transform.scale, 1)

    def lay_out(self, kernel: Array, lanes: Array) -> Layout:
        """Transform the weights.

        Their order is block of channels, position, two input channels, vector, lane, one of the
        two. They are int16.
        """
        weights = np.pad(transform_weights(self.transform, kernel), ((0, 1), (0, 0), (0, 0)))
        pairs = weights.reshape(*weights.shape[:2], -1, 2)
        return Layout(by_blocks(self.tiling, pairs, lanes, (0, 3, 4, 1, 2)))

    def kernel(self, epilogue: Epilogue, known: None) -> WinogradKernel:
        """Make the writer of a function of transformed weights."""
        return WinogradKernel(self, epilogue)


def plan(spec: ConvSpec, isa: Isa, weights: Weights, most: float) -> WinogradPlan | None:
    """Plan a convolution.

    If no instruction multiplies and adds bytes, the plan must cost less than pairs at best, as no
    other way has fewer units. No sum of products may leave int32, unless the outputs are right
    modulo 2^32.
    """
    if isa.has_byte_products and isa.lanes < AVX512_VNNI.lanes:
        return None
    planned = cut(spec, isa)
    if planned is None or planned.cost > most:
        return None
    if isa.has_byte_products:
        return planned if wraps_back(planned.transform, weights.centred) else None
    if planned.units > _WORTH_IT * units(spec, PairProducts(isa)):
        return None
    transformed = transform_weights(planned.transform, weights.centred)
    return planned if stays_in_range(planned.transform, transformed) else None


@cache
def cut(spec: ConvSpec, isa: Isa) -> WinogradPlan | None:
    """Cut a convolution, whether or not it pays.

    Args:
        spec: the convolution.
        isa: the instruction set.

    Returns:
        None if there is no transform, or channels do not fill vectors of words.
    """
    has_dots = isa.has_byte_products
    products = WordDots(isa) if has_dots else WordProducts(isa)
    transform = transform_of(spec, has_dots=has_dots)
    if transform is None or spec.staged_dtype != "uint8":
        return None
    if spec.in_channels % isa.lanes or spec.in_channels < 2 * isa.lanes:
        return None
    if spec.in_channels % (2 * isa.lanes) and not has_dots:
        return None
    rows = -(-spec.out_height // transform.y.tile_outputs)
    columns = -(-spec.out_width // transform.x.tile_outputs)
    tiles = spec.batch * rows * columns
    vectors = isa.vectors(spec.out_channels)
    cuts = split_vectors(vectors, min(vectors, _NR), spec.out_channels % isa.lanes != 0)
    width = max(nr for _, _, nr in cuts)
    tile_bytes = transform.positions * (2 * spec.in_channels + DWORD * width * isa.lanes)
    is_one = tiles * tile_bytes <= _ONLY_PANEL_BYTES
    most = tiles if is_one else _PANEL_BYTES // tile_bytes
    ways = (
        (panel, at_once)
        for at_once in range(1, min(tiles, _MAX_TILES) + 1)
        if registers_of(products, width, at_once) <= isa.registers
        for panel in range(at_once, max(at_once, min(tiles, most)) + 1, at_once)
    )
    plans = (
        WinogradPlan(
            spec,
            products,
            tuple(Section(first, blocks, nr, at_once) for first, blocks, nr in cuts),
            0.0,
            transform,
            rows,
            columns,
            tiles,
            panel,
        )
        for panel, at_once in ways
    )
    cheapest = min(
        plans, key=lambda plan: plan.units * (_PREFERENCE if plan.group == _MAX_TILES else 1)
    )
    factor = 1 / _WORTH_IT_BESIDE_DOTS if has_dots else LEAST_K_STEP / _WORTH_IT
    return replace(cheapest, cost=cheapest.units * factor)
