"""The registers of a depthwise convolution.

Rows are interleaved before they are multiplied: values of one column in neighbouring rows become
the bytes of a cell of 32 bits, one cell per pixel and channel. So one instruction multiplies a
cell by its weights and adds the products. A cell holds 4 bytes, for
vpdpbusd and int8 weights, or 2 values of 16 bits, for vpdpwssd or vpmaddwd and int16 weights. It
serves every column of the kernel and several output rows. Weights w − zw that take more than 8
bits are sums of two int8, each of which multiplies the cell; few taps have such weights.

Channels are cut into blocks of 64, 32 and 16, up to the width of vectors. A vector of AVX512
holds 64 values of a row: one pixel of a wide block, or the same channels of 2 or 4 pixels. If
fewer channels remain than the narrowest width takes, the last block overlaps the one before.
Lanes stay empty only if the data has fewer channels in all. The code has a loop for each width, so
a width is left out if that costs little.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.rows import has_masks
from legalize.kernels.isa.x86 import Isa
from qnn_ops.arrays import Int64Array

PLANES = 4
_WIDTHS = ((64, 32, 16), (64, 16), (32, 16), (16,))
# AVX512 loads and stores any number of bytes by a mask.
_MASKED_WIDTHS = ((64, 32), (64,), (32,))
_MAX_ROWS = 4
_MAX_UNROLLED = 20
# Cycles: to interleave a vector of cells; the additional ones to load or store a vector in 2 or 4
# parts, which are in different pixels or lines of the cache; to load a vector for products, which
# waits for nothing but takes issue slots; to rescale and store an output vector; the overhead of a
# tile; that of a row.
_INTERLEAVE = 9.0
_PARTS = {1: 0.0, 2: 0.3, 4: 2.5}
_LOAD = 0.4
_RESCALE = 16.0
_TILE = 10.0
_ROW = 10.0
# Each further loop over blocks costs a share of all cycles, because its buffer takes room in the
# nearest cache. Its code costs some cycles for each vector of a tile, and some once.
_SECTION = 0.05
_VECTOR_CODE = 10.0
_REST_CODE = 40.0


@dataclass(frozen=True)
class Cells:
    """The form in which values and weights are multiplied.

    Attributes:
        taps: values in a cell: 4 bytes by int8 weights or 2 of 16 bits by int16 weights.
        large: the rows and columns of the kernel with weights w − zw that are sums of two int8.
    """

    taps: int
    large: tuple[tuple[int, int], ...] = ()

    @property
    def terms(self) -> int:
        """The most weights whose sum is w − zw."""
        return 2 if self.large else 1


class Product(NamedTuple):
    """A cell multiplied by weights, for an output row.

    Attributes:
        column: the kernel's column.
        row: the output row, among those that are computed at a time.
        cell: the cell that the row reads.
        term: the term of the weights: 0 or 1.
    """

    column: int
    row: int
    cell: int
    term: int


class Phase(NamedTuple):
    """The columns with one remainder modulo the stride, which tiles read from neighbouring slots.

    Attributes:
        number: the remainder, of columns of the padded data.
        first_slot: the slot of the data's first column.
        first_column: this column of the data.
        columns: the number of the data's columns that are read.
    """

    number: int
    first_slot: int
    first_column: int
    columns: int


def choose_cells(centred_kernel: Int64Array, isa: Isa) -> Cells:
    """Choose the cheapest products that are exact for these weights w − zw, HWC."""
    low, high = centred_kernel.min(axis=2), centred_kernel.max(axis=2)
    if not isa.has_byte_products or low.min() < -256 or high.max() > 254:
        return Cells(taps=2)
    large = np.argwhere((low < -128) | (high > 127))
    return Cells(4, tuple((int(row), int(column)) for row, column in large))


@dataclass(frozen=True)
class Section:
    """Neighbouring blocks of channels of one width.

    Attributes:
        first_channel: the first channel of the first block.
        blocks: number of blocks.
        width: bytes of a pixel in a block: 64, 32 or 16.
        channels: the number of these bytes that are channels: less than ``width`` only if the data
            has fewer channels.
        last_channel: the first channel of the last block, which may overlap the one before.
    """

    first_channel: int
    blocks: int
    width: int
    channels: int
    last_channel: int

    @property
    def overlaps(self) -> bool:
        """Whether the last block overlaps the one before."""
        return self.last_channel != self.first_channel + (self.blocks - 1) * self.width


@dataclass(frozen=True)
class Plan:
    """The registers and the order of one depthwise convolution.

    Attributes:
        spec: the convolution; as many output channels as input channels.
        isa: the instruction set.
        form: how values and weights are multiplied.
        rows: output rows that are computed at a time.
        tiles: vectors of neighbouring output pixels that are summed at a time.
        widths: the widths of blocks.
    """

    spec: ConvSpec
    isa: Isa
    form: Cells
    rows: int
    tiles: int
    widths: tuple[int, ...] = _WIDTHS[0]

    @property
    def vector_bytes(self) -> int:
        """Bytes in a vector, which is also the number of cells in its four planes."""
        return PLANES * self.isa.lanes

    def pixels(self, section: Section) -> int:
        """Count the pixels in a vector of a section."""
        return self.vector_bytes // section.width

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Blocks that cover the channels."""
        channels, narrowest = self.spec.in_channels, self.widths[-1]
        if channels < narrowest:
            return (Section(0, 1, narrowest, channels, 0),)
        sections = []
        first = 0
        for width in (w for w in self.widths if w <= self.vector_bytes):
            blocks = (channels - first) // width
            last = first + (blocks - 1) * width
            if width == narrowest and first + blocks * width < channels:
                blocks, last = blocks + 1, channels - width
            if blocks:
                sections.append(Section(min(first, last), blocks, width, width, last))
                first += blocks * width
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
        return -(-len(self.row_offsets) // self.form.taps)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of an output row and a cell that it reads."""
        every = product(range(self.cells), range(self.rows))
        return tuple((row, cell) for cell, row in every if self.kernel_rows(row, cell))

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """All products of a plane, in order."""
        return tuple(
            Product(column, row, cell, term)
            for column in range(self.spec.kernel_width)
            for row, cell in self.pairs
            for term in range(self.form.terms)
            if term == 0 or not self.is_unrolled or self._is_large(column, row, cell)
        )

    def _is_large(self, column: int, row: int, cell: int) -> bool:
        return any((tap, column) in self.form.large for tap in self.kernel_rows(row, cell))

    def kernel_rows(self, row: int, cell: int) -> list[int]:
        """List the kernel's rows that multiply a cell's values for an output row."""
        taps = [self.kernel_row(row, cell, slot) for slot in range(self.form.taps)]
        return [tap for tap in taps if tap >= 0]

    def kernel_row(self, row: int, cell: int, slot: int) -> int:
        """Return the kernel's row that multiplies a cell's value for an output row; -1 for none."""
        number = cell * self.form.taps + slot
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

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases that kernel columns read."""
        spec = self.spec
        stride, left = spec.strides[1], spec.padding[1]
        stop = min(spec.in_width, self.columns - left)
        phases = []
        for number in sorted({k * spec.dilation[1] % stride for k in range(spec.kernel_width)}):
            first = (number - left) % stride
            count = max(0, -(-(stop - first) // stride))
            phases.append(Phase(number, (first + left) // stride, first, count))
        return tuple(phases)

    def slots(self, section: Section) -> int:
        """Count a phase's pixels (column modulo stride), and those that a last vector adds."""
        spec = self.spec
        reach = spec.dilation[1] * (spec.kernel_width - 1) // spec.strides[1]
        return max(spec.out_width, self.tiles * self.pixels(section)) + reach

    def vectors(self) -> int:
        """Count the vectors of int32 that hold the channels of all blocks."""
        return sum(section.blocks * PLANES for section in self.sections)

    def lane_channels(self) -> Int64Array:
        """Tell which channel each lane of the accumulators holds.

        Interleaving deals out the values of a vector to four planes of cells: plane i takes values
        16·j + 4·i to 16·j + 4·i + 3 of each 16 bytes j. The instructions that narrow four vectors
        to one undo this order.

        Returns:
            int64 of shape [vectors, lanes]; -1 for an empty lane.
        """
        lanes = self.isa.lanes
        j, i, k = np.ogrid[: lanes // 4, :PLANES, :4]
        value = (16 * j + 4 * i + k).transpose(1, 0, 2).reshape(PLANES, lanes)
        channels = []
        for section in self.sections:
            within = value % section.width
            for block in range(section.blocks):
                first = min(section.first_channel + block * section.width, section.last_channel)
                channel = first + within
                channels.append(np.where(within < section.channels, channel, -1))
        return np.concatenate(channels)


@cache
def choose_plan(spec: ConvSpec, isa: Isa, form: Cells) -> Plan:
    """Choose the widths of blocks, and how many rows and vectors are summed at a time.

    Rows are computed together if the first row's cells hold the others' values, so that they share
    the interleaving. Vectors in a row share the loads of weights. Their accumulators may take all
    registers, as narrowing soon frees half of them. Among equally cheap plans the first is taken,
    so the choice is the same every time.
    """
    cells = Plan(spec, isa, form, 1, 1).cells
    # Different choices often leave the same widths, as vectors are short or channels few.
    every = (*_WIDTHS, *_MASKED_WIDTHS) if has_masks(isa.lanes) else _WIDTHS
    choices = (Plan(spec, isa, form, 1, 1, widths).sections for widths in every)
    used = dict.fromkeys(tuple(section.width for section in sections) for sections in choices)
    plans = []
    for rows, widths in product(range(1, min(spec.out_height, _MAX_ROWS) + 1), used):
        for tiles in range(1, isa.registers // PLANES // rows + 1):
            plan = Plan(spec, isa, form, rows, tiles, widths)
            if rows == 1 or (plan.cells == cells and _fits_code(plan)):
                plans.append(plan)
    return min(plans, key=_cost)


def _cost(plan: Plan) -> float:
    """Estimate what a plan costs: its cycles, and its code in cycles."""
    sections = len(plan.sections)
    code = plan.rows * plan.tiles * _VECTOR_CODE + _REST_CODE
    return cycles(plan) * (1 + _SECTION * sections) + sections * code


def _fits_code(plan: Plan) -> bool:
    return plan.spec.kernel_width * len(plan.pairs) * plan.form.terms <= _MAX_UNROLLED


def cycles(plan: Plan) -> float:
    """Estimate the cycles of all images."""
    spec = plan.spec
    instructions = 1 if plan.isa.has_byte_products else 2
    loads = 1 / plan.tiles + 1 / plan.rows
    products = len(plan.products) * PLANES * (instructions / 2 + _LOAD * loads)
    bands = spec.batch * -(-spec.out_height // plan.rows)
    in_pitch = spec.strides[1] * spec.in_channels
    total = 0.0
    for section in plan.sections:
        pixels = plan.pixels(section)
        load = len(plan.row_offsets) * _in_parts(section, pixels, in_pitch)
        store = _in_parts(section, pixels, spec.out_channels)
        interleaved = plan.columns * (plan.cells * _INTERLEAVE + load) / pixels
        tiles = -(-spec.out_width // (plan.tiles * pixels))
        tile = plan.tiles * (products + plan.rows * (_RESCALE + store)) + _TILE
        total += section.blocks * bands * (interleaved + tiles * tile + _ROW)
    return total


def _in_parts(section: Section, pixels: int, pitch: int) -> float:
    """Estimate the additional cycles for a vector of pixels that are ``pitch`` bytes apart."""
    if pitch == section.width:
        return 0.0
    return _PARTS[max(pixels, 2 if pitch % section.width else 1)]
