"""The tiles of a convolution, and the layout of its kernel for them."""

from __future__ import annotations

from collections.abc import Iterator

from legalize.kernels.float_conv2d.spec import FloatConv
from legalize.kernels.isa.base import VectorIsa

MOST_PIXELS = 12
_LATENCY = 8
"""The products that a processor can begin before a sum takes the next one."""
_FAR = 2048
_MOST_FAR = 7
"""Pixels at a multiple of this many bytes share places in a cache: few of a tile may."""
_BLOCK_BYTES = 640_000
"""What the weights of a block may take, to stay in a cache from one row of pixels to the next."""


def depthwise_lanes(isa: VectorIsa, channels: int) -> int:
    """Return the channels of a vector: a power of two, at most all channels."""
    return min(isa.lanes, 1 << (channels.bit_length() - 1))


def kernel_shape(isa: VectorIsa, spec: FloatConv) -> tuple[int, ...]:
    """Return the shape of the packed kernel."""
    if spec.is_depthwise:
        return (spec.depth, spec.channels)
    vectors = -(-spec.units // spec.groups // isa.lanes)
    return (spec.groups, vectors * spec.depth * isa.lanes)


def has_streams(spec: FloatConv) -> bool:
    """Tell whether the packed vectors of a block are apart, and not side by side.

    One pixel waits for its weights, which a processor fetches faster from several places.
    """
    return spec.pixels == 1


def tile_of(isa: VectorIsa, spec: FloatConv) -> tuple[int, int]:
    """Choose the vectors and the pixels of a tile, to compute little twice and to load little."""
    vectors, count = -(-spec.units // spec.groups // isa.lanes), spec.in_a_row().columns.count
    is_far = 4 * spec.channels * spec.columns.stride % _FAR == 0
    kept = _BLOCK_BYTES // (spec.depth * isa.size)
    widest = isa.registers // 4 if spec.pixels == 1 else max(1, min(isa.registers // 8, kept))

    def cost(tile: tuple[int, int]) -> tuple[int, int]:
        """Return what a product takes in a row of pixels: a load is a quarter of a product."""
        most, pixels = tile
        sizes = {most: vectors // most, vectors % most: 1}
        turns = -(-count // pixels)
        return sum(
            turns * blocks * (4 * max(size * pixels, _LATENCY) + size + pixels)
            for size, blocks in sizes.items()
            if size
        ), -most

    most = _MOST_FAR if is_far else MOST_PIXELS
    room = isa.registers * 3 // 4
    return min(
        (
            (size, pixels)
            for size in range(1, widest + 1)
            for pixels in range(1, min(most, room // size) + 1)
        ),
        key=cost,
    )


def sections(units: int, lanes: int, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut units into blocks of vectors: (first vector, blocks, vectors of a block, lanes left).

    Only the last vector of the last block may have lanes left; that block is its own section.
    """
    whole, rest = divmod(units, most * lanes)
    if whole:
        yield 0, whole, most, 0
    if rest:
        vectors = -(-rest // lanes)
        yield whole * most, 1, vectors, vectors * lanes - rest
