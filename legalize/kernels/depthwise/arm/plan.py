"""The registers of a depthwise convolution.

Vectors run along the channels: a tile is some neighbouring pixels of an output row by 16 or 8
channels. smull and smlal multiply bytes and add the products in 16 bits, for as many taps of the
kernel as 16 bits hold whatever the data; saddw adds this sum to accumulators of 32 bits. So the
taps fall into short sums by their weights: two taps a sum unless both are −128, more where weights
are small.

Weights w − zw that take more than 8 bits are sums of int8: such a tap has two terms. Channels
are cut into blocks; the last block overlaps the one before it.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from legalize.kernels.conv2d.arm.rules import LEAST_DEPTHWISE
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.isa.arm import Isa
from legalize.kernels.isa.neon import LANES
from qnn_ops.arrays import Int64Array
from qnn_ops.dialect.attributes import dtype_range

_WIDTHS = (16, 8)
_LOWEST, _HIGHEST = dtype_range("int8")
_SUMS = dtype_range("int16")
# The rows of kernels with more terms are looped over.
_MAX_UNROLLED = 30
# More pixels than this would save loads, but leave LLVM no registers to load ahead.
_MOST_ACCUMULATORS = {32: 12, 16: 6}
# Instructions to rescale and store a pixel, for each vector and once; for a tile; for a row.
_RESCALE = 4.0
_PIXEL = 7.0
_TILE = 8.0
_MICROSECONDS = 0.25e-3

Term = tuple[int, int, int]
"""The kernel's row and column, and the index of the weight's part."""


@dataclass(frozen=True)
class Section:
    """Neighbouring blocks of channels of one width.

    Attributes:
        first_channel: the first channel of the first block.
        blocks: number of blocks.
        width: channels of a block.
    """

    first_channel: int
    blocks: int
    width: int


@dataclass(frozen=True)
class Plan:
    """The registers and the order of one depthwise convolution.

    Attributes:
        spec: the convolution; as many output channels as input channels.
        isa: the instruction set.
        short_sums: terms whose products are added in 16 bits. If the kernel's rows are looped over,
            only terms of the first row.
        is_looped: whether the kernel's rows are looped over.
        pixels: output pixels of a tile.
    """

    spec: ConvSpec
    isa: Isa
    short_sums: tuple[tuple[Term, ...], ...]
    is_looped: bool
    pixels: int

    @property
    def sections(self) -> tuple[Section, ...]:
        """Blocks that cover the channels."""
        channels = self.spec.in_channels
        cut: list[Section] = []
        first = 0
        for width in _widths(self.isa):
            if blocks := (channels - first) // width:
                cut.append(Section(first, blocks, width))
                first += blocks * width
        if first < channels:
            cut.append(Section(channels - LEAST_DEPTHWISE, 1, LEAST_DEPTHWISE))
        return tuple(cut)

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms of ``short_sums``, in order."""
        return tuple(term for terms in self.short_sums for term in terms)

    def lane_channels(self) -> Int64Array:
        """Return the channel of each lane: int64 [vectors, 4]."""
        channels = [
            section.first_channel + np.arange(section.blocks * section.width)
            for section in self.sections
        ]
        return np.concatenate(channels).reshape(-1, LANES)


def _widths(isa: Isa) -> tuple[int, ...]:
    # A tile of 16 channels does not fit the sixteen registers of ARMv7.
    return _WIDTHS[1:] if isa.neon.is_armv7 else _WIDTHS


def split_weights(centred: Int64Array) -> list[Int64Array]:
    """Write weights w − zw, int64 [KH, KW, channels], as a sum of the fewest int8."""
    parts: list[Int64Array] = []
    rest = centred
    while not parts or rest.any():
        parts.append(np.clip(rest, _LOWEST, _HIGHEST))
        rest = rest - parts[-1]
    return parts


@cache
def _choose_pixels(spec: ConvSpec, isa: Isa, products: int, sums: int) -> int:
    """Choose the pixels of the cheapest tile that fits the registers."""
    quads = _widths(isa)[0] // LANES
    most = _MOST_ACCUMULATORS[isa.registers] // quads
    return min(
        range(1, min(spec.out_width, most) + 1),
        key=lambda pixels: _cost(spec, pixels, quads, products, sums),
    )


def _cost(spec: ConvSpec, pixels: int, quads: int, products: int, sums: int) -> float:
    columns = (pixels - 1) * min(spec.strides[1], spec.kernel_width) + spec.kernel_width
    loads = spec.kernel_height * columns + products
    pixel = products * quads / 2 + sums * quads + _RESCALE * quads + _PIXEL
    tile = pixels * pixel + loads + _TILE
    return -(-spec.out_width // pixels) * tile


def choose_plan(spec: ConvSpec, isa: Isa, parts: list[Int64Array]) -> Plan:
    """Divide the taps into short sums and choose the tile.

    Args:
        spec: the convolution.
        isa: the instruction set.
        parts: from ``split_weights``.
    """
    height, width, _ = parts[0].shape
    terms = [
        (ky, kx, part)
        for ky in range(height)
        for kx in range(width)
        for part in range(len(parts))
        if part == 0 or parts[part][ky, kx].any()
    ]
    if len(terms) <= _MAX_UNROLLED:
        weights = {term: parts[term[2]][term[0], term[1]] for term in terms}
        short_sums = _short_sums(terms, weights)
        sums = len(short_sums)
        return Plan(spec, isa, short_sums, False, _choose_pixels(spec, isa, len(terms), sums))
    row = [(0, kx, part) for kx in range(width) for part in range(len(parts))]
    # Short sums must serve every row of the kernel.
    weights = {term: parts[term[2]][:, term[1]].reshape(height, -1).ravel() for term in row}
    short_sums = _short_sums(row, weights)
    sums = height * len(short_sums)
    return Plan(spec, isa, short_sums, True, _choose_pixels(spec, isa, height * len(row), sums))


def _short_sums(terms: list[Term], weights: dict[Term, Int64Array]) -> tuple[tuple[Term, ...], ...]:
    """Put each term into the first short sum that stays within 16 bits."""
    short_sums: list[list[Term]] = []
    ends: list[tuple[Int64Array, Int64Array]] = []
    for term in terms:
        products = weights[term] * _LOWEST, weights[term] * _HIGHEST
        low, high = np.minimum(*products), np.maximum(*products)
        for short_sum, (lowest, highest) in zip(short_sums, ends, strict=True):
            if (lowest + low >= _SUMS[0]).all() and (highest + high <= _SUMS[1]).all():
                short_sum.append(term)
                lowest += low
                highest += high
                break
        else:
            short_sums.append([term])
            ends.append((low, high))
    return tuple(map(tuple, short_sums))


def microseconds(plan: Plan) -> float:
    """Estimate the convolution's microseconds on one thread."""
    spec = plan.spec
    rows = spec.kernel_height if plan.is_looped else 1
    products, sums = rows * len(plan.terms), rows * len(plan.short_sums)
    cost = sum(
        section.blocks * _cost(spec, plan.pixels, section.width // LANES, products, sums)
        for section in plan.sections
    )
    return spec.batch * spec.out_height * cost * _MICROSECONDS
