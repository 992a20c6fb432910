"""The time that a convolution takes on a processor with AMX, in its tiles or in vectors.

The model is a sum: each of ``Terms`` is a count, multiplied by its nanoseconds. They were fitted to
291 measurements of the convolutions of Inception V3 and ResNet-50, each cut in all ways, on a core
of a Xeon with AMX: half of the estimates are within 10 % of the times, nine tenths within 26 %. The
model's choices take 0.6 % more time than the best ones in Inception V3, 0.8 % in ResNet-50.
``calls``, ``turns`` and ``pixel_sums`` are from an earlier fit, to 191 layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.near import hints, working
from legalize.kernels.conv2d.x86.tiling import units
from legalize.kernels.isa.amx import ROW_BYTES
from legalize.kernels.isa.x86 import AVX512_VNNI, ByteProducts

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.amx.plan import TilePlan

TILES_OF_SUMS = 4
"""Tiles of sums in a turn."""


class Terms(NamedTuple):
    """The counts of a convolution in tiles; or the nanoseconds of one of each.

    Attributes:
        calls: one.
        turns: turns of all sections.
        products: products of two tiles.
        loads: loads of tiles of data or weights.
        far_tiles: loads of data or weights that are not in the nearest cache.
        passing_tiles: far tiles that a hint keeps out of the nearest cache.
        askew_tiles: loads of data whose rows do not begin with a cache line.
        vectors: vectors of outputs.
        floors: vectors that are rounded twice below zero.
        pixel_sums: vectors from which their pixel's sum is subtracted.
        sums: vectors to which a tensor is added, if a pixel has four in a row.
        narrow_sums: vectors to which a tensor is added, if a pixel has fewer.
        copies: KiB that are copied.
    """

    calls: float = 0.0
    turns: float = 0.0
    products: float = 0.0
    loads: float = 0.0
    far_tiles: float = 0.0
    passing_tiles: float = 0.0
    askew_tiles: float = 0.0
    vectors: float = 0.0
    floors: float = 0.0
    pixel_sums: float = 0.0
    sums: float = 0.0
    narrow_sums: float = 0.0
    copies: float = 0.0


NANOSECONDS = Terms(
    calls=115,
    turns=12.7,
    products=1.68,
    loads=2.53,
    far_tiles=4.4,
    passing_tiles=2.54,
    askew_tiles=2.47,
    vectors=0.91,
    floors=0.1,
    pixel_sums=0.67,
    sums=0.88,
    narrow_sums=1.03,
    copies=22,
)
"""For a single convolution, with data and weights in the caches from the call before."""

VECTOR_UNIT = 0.123
"""Nanoseconds of a unit of tiling.py on processors with tiles."""

WORTH_IT = 0.85
"""Another way must take less than this share of a convolution's time to be chosen."""

# The cost of a call among others, which the tiles slow down, and that of copies.
_CALL = 1000
_COPIES = 1500

# Data of all pixels that stays in the nearest cache, however many weights there are.
_NEAR_DATA = 24 << 10
# Or data of all pixels together with the weights of a block.
_NEAR_BOTH = 44 << 10


def terms(plan: TilePlan) -> Terms:
    """Return the counts of a convolution."""
    spec, chunks = plan.spec, plan.runs * plan.chunks
    _, height, width, channels = spec.staged_shape
    size = spec.batch * height * width * channels
    if plan.copied:
        size = plan.copied * plan.pitch
    is_askew = plan.chunk > ROW_BYTES // 2 and bool(
        plan.pitch % ROW_BYTES or plan.chunk % ROW_BYTES
    )
    has_sums = spec.fusion.residual is not None
    turns = products = loads = far = passing = askew = vectors = narrow = 0.0
    for part in plan.tiling:
        tiles, count = plan.tiles_at_once(part), plan.turns(part)
        bytes_read, hint = working(plan, part), hints(plan, part)
        turns += count
        products += count * chunks * tiles * part.nr
        loads += count * chunks * (tiles + part.nr)
        # Data that is soon read again is loaded from far only once.
        data = count * chunks * tiles / bytes_read.reads
        weights = count * chunks * part.nr * plan.chunk / ROW_BYTES
        if hint.data:
            passing += data
        elif size > _NEAR_DATA and size + bytes_read.weights > _NEAR_BOTH:
            far += data
        if hint.weights:
            passing += weights
        elif not bytes_read.is_near and not hint.data:
            far += weights
        if is_askew:
            askew += count * chunks * tiles
        vectors += count * part.mr * part.nr
        if part.nr < TILES_OF_SUMS:
            narrow += count * part.mr * part.nr
    return Terms(
        calls=1,
        turns=turns,
        products=products,
        loads=loads,
        far_tiles=far,
        passing_tiles=passing,
        askew_tiles=askew,
        vectors=vectors,
        floors=spec.output.has_two_floors * vectors,
        pixel_sums=spec.has_asymmetric_kernel * vectors,
        sums=has_sums * (vectors - narrow),
        narrow_sums=has_sums * narrow,
        copies=spec.out_pixels * plan.pitch / 1024 if plan.copied else 0,
    )


def nanoseconds(plan: TilePlan) -> float:
    """Estimate the time of a convolution in tiles on one thread."""
    return sum(each * count for each, count in zip(NANOSECONDS, terms(plan), strict=True))


def nanoseconds_among_others(plan: TilePlan) -> float:
    """Estimate the time that a convolution in tiles adds to a network."""
    copies = _COPIES if plan.copied else 0
    return nanoseconds(plan) - NANOSECONDS.calls + _CALL + copies


def vector_nanoseconds(spec: ConvSpec) -> float:
    """Estimate the time of a convolution in vectors."""
    return VECTOR_UNIT * units(spec, ByteProducts(AVX512_VNNI))


def cost(plan: TilePlan) -> float:
    """Return the cost of a plan, in the units of tiling.py, so that only clear gains count."""
    return nanoseconds_among_others(plan) / (WORTH_IT * VECTOR_UNIT)
