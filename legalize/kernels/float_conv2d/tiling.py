"""The tiles of a convolution, and the layout of its kernel for them."""

from __future__ import annotations

from collections.abc import Iterator

from legalize.kernels.float_conv2d.spec import FloatConv
from legalize.kernels.isa.base import VectorIsa

MOST_PIXELS = 14
_LATENCY = 8
"""The products that a processor can begin before a sum takes the next one."""


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
    vectors, spare = -(-spec.units // spec.groups // isa.lanes), 1 if spec.is_fused else 2
    count = spec.in_a_row().columns.count

    def cost(tile: tuple[int, int]) -> tuple[int, int]:
        most, pixels = tile
        sizes = {most: vectors // most, vectors % most: 1}
        turns = -(-count // pixels)
        return sum(
            turns * blocks * max(size * pixels, size + pixels, _LATENCY)
            for size, blocks in sizes.items()
            if size
        ), -most

    return min(
        (
            (size, pixels)
            for size in range(1, isa.registers // 4 + 1)
            for pixels in range(1, min(MOST_PIXELS, (isa.registers - size - spare) // size) + 1)
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
