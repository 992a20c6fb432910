"""How a depthwise convolution is cut into registers.

Rows are interleaved before they are multiplied: the values that lie one above the other in
neighbouring rows become the bytes of a cell of 32 bits, one cell per pixel and channel, so that
one instruction multiplies a cell by its weights and adds the products (see ``Dot``). A cell
serves every column of the kernel and several output rows.

Channels are cut into blocks of 64, 32 and 16. A vector holds 64 values of a row: one pixel of a
wide block, or the same channels of 2 or 4 pixels. A rest of fewer than 16 channels is computed
by a block that overlaps the one before; only where there are fewer than 16 channels at all,
lanes are left empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from legalize.kernels.x86.spec import ConvSpec

LANES = 16
BYTES = 64
PLANES = 4
_WIDTHS = (64, 32, 16)
_MAX_ACCUMULATORS = 24
_MAX_ROWS = 4
_MAX_UNROLLED = 20
# Cycles of an output vector's rescaling and store, and of a tile's and a row's own overhead.
_RESCALE = 24
_TILE = 6
_ROW = 30


@dataclass(frozen=True)
class Dot:
    """The instruction that multiplies cells.

    Attributes:
        name: ``vpdpbusd``, ``vpdpwssd`` or ``vpmaddwd`` (with an addition).
        taps: Values in a cell: 4 uint8 by int8 weights, or 2 uint8 in 16 bits by int16 weights.
        cost: Instructions.
    """

    name: str
    taps: int
    cost: int


BYTE_DOT = Dot("vpdpbusd", 4, 1)
WORD_DOT = Dot("vpdpwssd", 2, 1)
WORD_PRODUCT = Dot("vpmaddwd", 2, 2)


def choose_dot(centred_kernel: npt.NDArray[np.int64], has_vnni: bool) -> Dot:
    """Choose the cheapest instruction that takes the weights, which are w − zw, exactly."""
    if not has_vnni:
        return WORD_PRODUCT
    fits = centred_kernel.min() >= -128 and centred_kernel.max() <= 127
    return BYTE_DOT if fits else WORD_DOT


@dataclass(frozen=True)
class Section:
    """Neighbouring blocks of channels of one width.

    Attributes:
        first_channel: Of the first block.
        blocks: Number of blocks.
        width: Bytes of a pixel in a block: 64, 32 or 16.
        channels: How many of them are channels: less than ``width`` only if the whole data has
            fewer than 16.
    """

    first_channel: int
    blocks: int
    width: int
    channels: int

    @property
    def pixels(self) -> int:
        """Pixels in a vector."""
        return BYTES // self.width


@dataclass(frozen=True)
class Plan:
    """The registers and the order of one depthwise convolution.

    Attributes:
        spec: The convolution; as many output channels as input channels.
        dot: The instruction.
        rows: Output rows that are computed at a time.
        tiles: Vectors of neighbouring output pixels that are summed at a time.
    """

    spec: ConvSpec
    dot: Dot
    rows: int
    tiles: int

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Blocks that cover the channels."""
        channels = self.spec.in_channels
        if channels < LANES:
            return (Section(0, 1, LANES, channels),)
        sections = []
        first = 0
        for width in _WIDTHS:
            if blocks := (channels - first) // width:
                sections.append(Section(first, blocks, width, width))
                first += blocks * width
        if first < channels:
            sections.append(Section(channels - LANES, 1, LANES, LANES))
        return tuple(sections)

    @cached_property
    def row_offsets(self) -> tuple[int, ...]:
        """Input rows that are interleaved, from the first one that the first output row reads."""
        stride, dilation = self.spec.strides[0], self.spec.dilation[0]
        taps = range(self.spec.kernel_height)
        return tuple(sorted({r * stride + k * dilation for r in range(self.rows) for k in taps}))

    @property
    def cells(self) -> int:
        """Cells that hold these rows."""
        return -(-len(self.row_offsets) // self.dot.taps)

    @cached_property
    def products(self) -> tuple[tuple[int, int], ...]:
        """Pairs of an output row and a cell that it reads."""
        pairs = []
        for cell in range(self.cells):
            for row in range(self.rows):
                if any(self.kernel_row(row, cell, slot) >= 0 for slot in range(self.dot.taps)):
                    pairs.append((row, cell))
        return tuple(pairs)

    def kernel_row(self, row: int, cell: int, slot: int) -> int:
        """The kernel's row that multiplies a cell's value for an output row; -1 if none does."""
        number = cell * self.dot.taps + slot
        if number >= len(self.row_offsets):
            return -1
        distance = self.row_offsets[number] - row * self.spec.strides[0]
        tap, rest = divmod(distance, self.spec.dilation[0])
        return tap if not rest and 0 <= tap < self.spec.kernel_height else -1

    @property
    def is_unrolled(self) -> bool:
        """Whether the kernel's columns and cells are written out, not looped over."""
        return self.rows > 1 or _fits_code(self)

    @property
    def columns(self) -> int:
        """Columns of the padded data that are read."""
        spec = self.spec
        reach = spec.dilation[1] * (spec.kernel_width - 1)
        return (spec.out_width - 1) * spec.strides[1] + reach + 1

    def slots(self, section: Section) -> int:
        """Pixels of every phase (column modulo stride), with those a last vector reads too many."""
        spec = self.spec
        reach = spec.dilation[1] * (spec.kernel_width - 1) // spec.strides[1]
        return max(spec.out_width, self.tiles * section.pixels) + reach

    def vectors(self) -> int:
        """Vectors of 16 lanes that hold the channels of all blocks."""
        return sum(section.blocks * PLANES for section in self.sections)

    def lane_channels(self) -> npt.NDArray[np.int64]:
        """Tell which channel each lane of the accumulators holds.

        Interleaving deals out the 64 values of a vector to four planes of 16 cells: plane i takes
        values 16·j + 4·i to 16·j + 4·i + 3 of each quarter j, which is the order that the
        instructions which narrow four vectors to one undo.

        Returns:
            int64 of shape [vectors, 16]; -1 for an empty lane.
        """
        j, i, k = np.ogrid[:4, :PLANES, :4]
        value = (16 * j + 4 * i + k).transpose(1, 0, 2).reshape(PLANES, LANES)
        channels = []
        for section in self.sections:
            within = value % section.width
            for block in range(section.blocks):
                channel = section.first_channel + block * section.width + within
                channels.append(np.where(within < section.channels, channel, -1))
        return np.concatenate(channels)


@cache
def choose_plan(spec: ConvSpec, dot: Dot) -> Plan:
    """Choose how many rows and vectors are summed at a time: the cheapest by ``_cost``.

    Of equally cheap plans it takes the first, so it is the same every time.
    """
    plans = []
    for rows in range(1, min(spec.out_height, _MAX_ROWS) + 1):
        for tiles in range(1, _MAX_ACCUMULATORS // (PLANES * rows) + 1):
            plan = Plan(spec, dot, rows, tiles)
            if rows == 1 or _fits_code(plan):
                plans.append(plan)
    return min(plans, key=_cost)


def _fits_code(plan: Plan) -> bool:
    return plan.spec.kernel_width * len(plan.products) <= _MAX_UNROLLED


def _cost(plan: Plan) -> float:
    """Instructions for one channel block of each section, over one image."""
    spec = plan.spec
    total = 0.0
    for section in plan.sections:
        interleaved = plan.columns * plan.cells * 12 / section.pixels
        tiles = -(-spec.out_width // (plan.tiles * section.pixels))
        products = spec.kernel_width * len(plan.products) * PLANES * plan.dot.cost
        tile = plan.tiles * (products + plan.rows * _RESCALE) + _TILE
        groups = -(-spec.out_height // plan.rows)
        total += section.blocks * groups * (interleaved + tiles * tile + _ROW)
    return total
