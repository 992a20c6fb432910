"""The plan of a convolution in AMX's tiles, if that pays.

A tile of data has a row for each of up to 16 output pixels, whose bytes lie at equal distances, the
pitch. Pixels in a row of the output lie at one pitch. Pixels of neighbouring rows do so, too, if
pixels are numbered through the data's padding: then a few pixels in each row are computed for
nothing. Otherwise tiles take the last pixels of the rows down the image, at the distance of its
rows. The plan takes the way with the fewest tiles; tiles down the image count more.

A run of bytes is multiplied in chunks of up to 64. All have the same size, as the tiles'
configuration is fixed. The last chunk ends where the run ends. Bytes that the chunk before already
had meet weights of zero.

A turn of the loop sums four tiles: one tile of pixels and four vectors of channels, two and two, or
four and one. Four vectors of a pixel become bytes with the fewest instructions, and one store.
Fewer vectors have fewer weights, which stay in the nearest cache for longer sums. The data of each
pixel may first be copied side by side: then the whole sum is one run. The cost model chooses.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, split_vectors
from legalize.kernels.conv2d.x86.amx.copies import can_copy, pitch_of
from legalize.kernels.conv2d.x86.amx.cost import TILES_OF_SUMS, WORTH_IT, cost, nanoseconds
from legalize.kernels.conv2d.x86.amx.division import is_by_pixels
from legalize.kernels.conv2d.x86.amx.kernel import TileKernel
from legalize.kernels.conv2d.x86.amx.places import (
    chunk_places,
    outputs_of_rows,
    pixels_of_rows,
    tile_places,
)
from legalize.kernels.conv2d.x86.amx.slots import Slots, slots_of
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.plan import Layout, Plan
from legalize.kernels.conv2d.x86.tiling import by_blocks
from legalize.kernels.ir.vectors import DWORD, Array
from legalize.kernels.isa.amx import ROW_BYTES, ROWS, configuration
from legalize.kernels.isa.x86 import AVX512_VNNI, ByteProducts, Isa

WIDTHS = (4, 2, 1)
"""The most vectors of channels in a turn; fewer may be chosen."""

# Full chunks are faster than equal chunks of more bytes than this.
_MOST_ALIKE = 48
# Copies share the second-level cache with weights and outputs.
_MOST_COPIES = 1 << 20
# Tiles across the image that take as long as one down a column, whose rows no prefetcher foresees:
# 0.9 to 8 in the measured layers, two in half of them.
_COLUMN_TILE = 1.6
# With this few channels, as in a first layer, copies of a turn pay off.
_FEW_CHANNELS = 4


@dataclass(frozen=True)
class TilePlan(Plan):
    """A convolution cut into tiles; ``mr`` of its tiling is the number of pixels in a turn.

    Attributes:
        lines: stretches of pixels at one pitch: one for all, one for each image or for each row.
        line_pixels: pixels of such a stretch, including unused ones.
        row_pixels: pixels from a row to the next one within a stretch.
        real_pixels: how many of these are output pixels.
        columns: pixels at the end of each row that tiles down the image compute.
        pitch: bytes from a pixel to the next one.
        chunk: bytes of the sum in a tile.
        chunks: tiles for a run.
        copied: pixels whose data is copied side by side at a time: all, those of a turn, or none.
    """

    lines: int
    line_pixels: int
    row_pixels: int
    real_pixels: int
    columns: int
    pitch: int
    chunk: int
    chunks: int
    copied: int = 0

    @property
    def shares_sizes(self) -> bool:
        """Whether the code reads the convolution's sizes."""
        spec = self.spec
        # Copies and sums of pixels take memory of a known size.
        has_memory = self.copied > 0 or spec.has_asymmetric_kernel
        return spec.fusion.is_shared and not has_memory

    @property
    def runs(self) -> int:
        """Stretches of bytes that a pixel reads."""
        return 1 if self.copied else self.spec.runs

    @property
    def run_length(self) -> int:
        """Bytes of a run."""
        return self.chunk * self.chunks if self.copied else self.spec.run_length

    @property
    def rows(self) -> int:
        """Pixels of a tile."""
        return _rows(self.line_pixels)

    @property
    def tiles_per_line(self) -> int:
        """Tiles that cover a stretch; the last one overlaps the one before."""
        return -(-self.line_pixels // self.rows)

    @property
    def tiles_across(self) -> int:
        """Tiles of all stretches."""
        return self.lines * self.tiles_per_line

    @property
    def tiles_per_column(self) -> int:
        """Tiles that cover a column of an image; the last one overlaps the one before."""
        return -(-self.spec.out_height // self.rows)

    @property
    def width(self) -> int:
        """Pixels from a row of the output to the next one."""
        width = self.spec.out_width
        return self.row_pixels if self.real_pixels == width else width

    @property
    def has_gaps(self) -> bool:
        """Whether tiles compute pixels that are not in the output."""
        return self.row_pixels > self.real_pixels

    @property
    def vector_bytes(self) -> int:
        """Bytes of the weights of a vector of channels."""
        return self.runs * self.chunks * self.chunk * self.products.lanes

    @property
    def pixels(self) -> int:
        """Pixels that tiles cover, including unused ones."""
        spec = self.spec
        return self.lines * self.line_pixels + spec.batch * self.columns * spec.out_height

    @property
    def tiles(self) -> int:
        """Tiles of pixels."""
        return self.tiles_across + self.spec.batch * self.columns * self.tiles_per_column

    def tiles_at_once(self, section: Section) -> int:
        """Count the tiles of pixels in a turn."""
        return section.mr // self.rows

    def turns_of_block(self, section: Section) -> int:
        """Count the turns of a block of channels; the last one may repeat tiles."""
        return -(-self.tiles // self.tiles_at_once(section))

    def turns(self, section: Section) -> int:
        """Count the turns of all blocks."""
        return section.blocks * self.turns_of_block(section)

    def is_by_pixels(self, section: Section) -> bool:
        """Tell whether threads divide the turns of each block; see division.py."""
        return is_by_pixels(self, section)

    def slots(self, section: Section) -> Slots:
        """Return the slots of a turn of a section."""
        at_once = self.tiles_at_once(section)
        return slots_of(self.rows, at_once, self.runs * self.chunks, at_once * section.nr)

    def lay_out(self, kernel: Array, lanes: Array) -> Layout:
        """Cut the weights into chunks, with zeros for bytes past a pixel's copy.

        Their order is block of channels, run, chunk, vector, K-step, lane, byte.
        """
        runs = kernel.reshape(len(kernel), self.runs, -1)
        chunks = np.zeros((len(kernel) + 1, self.runs, self.chunks, self.chunk), np.int8)
        for number in range(self.chunks):
            start = number * self.chunk
            first = min(start, self.run_length - self.chunk)
            part = runs[:, :, start : first + self.chunk]
            offset = start - first
            chunks[:-1, :, number, offset : offset + part.shape[-1]] = part
        chunks = chunks.reshape(len(chunks), -1, self.chunk // DWORD, DWORD)
        weights = by_blocks(self.tiling, chunks, lanes, (0, 3, 1, 4, 2))
        settings = self.configuration, chunk_places(self), *self.places.values()
        return Layout(weights, settings=settings)

    @cached_property
    def places(self) -> dict[str, Array]:
        """Return the tables of places.py by name; none if data is copied: tiles are then in order.

        Rows that are no output pixels have the number of the first pixel.
        """
        if self.copied:
            return {}
        places = {"tiles": tile_places(self), "outputs": outputs_of_rows(self)}
        if self.spec.has_asymmetric_kernel or self.spec.fusion.encoding is not None:
            places["pixels"] = np.maximum(pixels_of_rows(self), 0)
        return places

    @property
    def configuration(self) -> Array:
        """The shapes of the thread's tiles, as ldtilecfg loads them: uint8 [64]."""
        row = DWORD * AVX512_VNNI.lanes
        sums, data, weights = (self.rows, row), (self.rows, self.chunk), (self.chunk // DWORD, row)
        return configuration([sums] * 4 + [data] * 2 + [weights] * 2)

    def kernel(self, epilogue: Epilogue, known: None) -> TileKernel:
        """Make the writer of a function of chunks."""
        return TileKernel(self, epilogue)


def plan(spec: ConvSpec, isa: Isa, _weights: Weights, most: float) -> TilePlan | None:
    """Plan a convolution of staged uint8."""
    if "amx-int8" not in isa.features or spec.staged_dtype != "uint8" or spec.run_length < DWORD:
        return None
    planned = cut(spec)
    chosen = planned if planned.cost < most else None
    limit = most if chosen is None else WORTH_IT * chosen.cost
    copied = cut_copied(spec)
    return copied if copied is not None and copied.cost < limit else chosen


@cache
def cut(spec: ConvSpec) -> TilePlan:
    """Cut a convolution into tiles of uncopied data, whether or not it pays."""
    return min((cut_to_width(spec, nr) for nr in WIDTHS), key=nanoseconds)


@cache
def cut_copied(spec: ConvSpec) -> TilePlan | None:
    """Cut a convolution into tiles of copied data; None if copies are too large or useless."""
    plans = [cut_copied_to_width(spec, nr) for nr in WIDTHS] if can_copy(spec) else []
    return min((plan for plan in plans if plan is not None), key=nanoseconds, default=None)


def cut_copied_to_width(spec: ConvSpec, nr: int) -> TilePlan | None:
    """Cut a convolution into tiles of copied data, with at most ``nr`` vectors in a turn."""
    length = spec.runs * spec.run_length
    pitch = pitch_of(length)
    chunk = min(pitch, ROW_BYTES)
    way = _Way(1, spec.out_pixels, spec.out_pixels, spec.out_pixels)
    plan = _tiled(spec, way, (pitch, chunk, -(-length // chunk)), nr)
    copied = spec.out_pixels
    if copied * pitch > _MOST_COPIES:
        # Each block would copy again, and products wait for copies that were just stored.
        if sum(section.blocks for section in plan.tiling) > 1 or spec.in_channels > _FEW_CHANNELS:
            return None
        copied = plan.tiling[0].mr
    plan = replace(plan, copied=copied)
    return replace(plan, cost=cost(plan))


def cut_to_width(spec: ConvSpec, nr: int) -> TilePlan:
    """Cut a convolution into tiles with at most ``nr`` vectors of channels in a turn."""
    _, _, width, channels = spec.staged_shape
    stride_y, stride_x = spec.strides
    row, pitch = stride_y * width * channels, stride_x * channels
    # In order of preference.
    out_width, rows = spec.out_width, spec.batch * spec.out_height
    ways = [_Way(rows, out_width, out_width, out_width)]
    if row % pitch == 0:
        row_pixels = row // pitch
        pixels = (spec.out_height - 1) * row_pixels + out_width
        ways.insert(0, _Way(spec.batch, pixels, row_pixels, out_width))
    if spec.pixel_pitch is not None:
        ways.insert(0, _Way(1, spec.out_pixels, spec.out_pixels, spec.out_pixels))
    columns = out_width % ROWS
    if 0 < columns < out_width and spec.out_height >= ROWS:
        across = out_width - columns
        ways.append(_Way(rows, across, across, across, columns))
    sizes = (pitch, *_chunks(spec.run_length))
    plan = min((_tiled(spec, way, sizes, nr) for way in ways), key=_weighed_tiles)
    return replace(plan, cost=cost(plan))


def _weighed_tiles(plan: TilePlan) -> float:
    return plan.tiles + (_COLUMN_TILE - 1) * (plan.tiles - plan.tiles_across)


class _Way(NamedTuple):
    """How pixels are numbered: see ``TilePlan``."""

    lines: int
    line_pixels: int
    row_pixels: int
    real_pixels: int
    columns: int = 0


def _chunks(run_length: int) -> tuple[int, int]:
    """Return the size and number of a run's chunks: whole K-steps, none longer than the run.

    They have equal sizes unless they would be nearly full: full chunks begin on cache lines more
    often.
    """
    count = -(-run_length // ROW_BYTES)
    chunk = -(-run_length // (count * DWORD)) * DWORD
    if chunk > _MOST_ALIKE and run_length > ROW_BYTES:
        chunk = ROW_BYTES
    if chunk > run_length:
        chunk = run_length // DWORD * DWORD
    return chunk, -(-run_length // chunk)


def _rows(line_pixels: int) -> int:
    """Return the pixels of a tile of a stretch: the fewest that need no further tile.

    Then as few pixels as possible are computed twice.
    """
    return -(-line_pixels // -(-line_pixels // ROWS))


def _tiled(spec: ConvSpec, way: _Way, sizes: tuple[int, int, int], nr: int) -> TilePlan:
    """Cut a convolution into turns, given pitch, chunk and chunks; its cost is left open."""
    plan = TilePlan(spec, ByteProducts(AVX512_VNNI), (), 0.0, *way, *sizes)
    vectors = AVX512_VNNI.vectors(spec.out_channels)
    is_ragged = spec.out_channels % AVX512_VNNI.lanes != 0
    cuts = split_vectors(vectors, min(vectors, nr), is_ragged)
    tiling = tuple(
        Section(first, blocks, nr, plan.rows * min(plan.tiles, TILES_OF_SUMS // nr))
        for first, blocks, nr in cuts
    )
    return replace(plan, tiling=tiling)
