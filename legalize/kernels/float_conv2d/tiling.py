"""The tiles of a convolution, and the layout of its kernel for them."""

from collections.abc import Iterator

from legalize.kernels.float_conv2d.spec import FloatConv
from legalize.kernels.ir.sums import tile_size
from legalize.kernels.isa.base import VectorIsa

MOST_PIXELS = 12
_LATENCY = 8
"""The number of products that a processor can begin before a sum takes its next product."""
_LOOP = 2
"""The cost of a loop's turn beside its loads."""
_FAR = 2048
_MOST_FAR = 7
"""The most pixels of a tile if they lie ``_FAR`` bytes apart, and so share places in a cache."""
_NEAR_BYTES = 1 << 14
"""The most bytes of a block's weights that stay in the first level of caches."""
_BLOCK_BYTES = 640_000
"""The most bytes of a block's weights that stay in a cache from one row of pixels to the next."""


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
    """Tell whether the packed vectors of a block lie apart, and not side by side.

    A single pixel waits for its weights, and a processor fetches them faster from several places.
    """
    return spec.pixels == 1


def tile_of(isa: VectorIsa, spec: FloatConv) -> tuple[int, int]:
    """Choose a tile's numbers of vectors and pixels, for little repeated work and few loads."""
    vectors, count = -(-spec.units // spec.groups // isa.lanes), spec.in_long_rows().columns.count
    is_far = 4 * spec.channels * spec.columns.stride % _FAR == 0
    kept = _BLOCK_BYTES // (spec.depth * isa.size)
    widest = isa.registers // 4 if spec.pixels == 1 else max(1, min(isa.registers // 8, kept))

    def cost(tile: tuple[int, int]) -> tuple[int, int]:
        """Return the cost of a row of pixels.

        A load costs a quarter of a product; one of weights from a far cache costs three quarters.
        """
        most, pixels = tile[0], tile_size(count, tile[1])
        sizes = {most: vectors // most, vectors % most: 1}
        turns = -(-count // pixels)
        load = 1 if most * spec.depth * isa.size <= _NEAR_BYTES else 3
        return sum(
            turns * blocks * (4 * max(size * pixels, _LATENCY) + load * size + pixels + _LOOP)
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
