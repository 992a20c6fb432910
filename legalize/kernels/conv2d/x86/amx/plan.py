"""How a convolution is cut into AMX's tiles, and whether that is worth while.

A tile of data has a row for each of up to 16 output pixels, whose bytes lie at one distance, the
pitch. Pixels of a row of the output do. Those of neighbouring rows, too, if the pixels are
numbered through the data's padding: a few in each row are then computed for nothing. The plan
takes the numbering with the fewest tiles.

A run of bytes is multiplied in chunks of up to 64. They are of one size, as a tile's
configuration is; the last one ends where the run ends, and meets weights of zero for the bytes
that the chunk before had.

A step of the loop multiplies two tiles of pixels with two of channels. The model counts what
the one of tiling.py counts, to be compared with it. It was made from the instructions' published
throughput, not yet fitted to measurements; so the plan wants a clear gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, Tiling, split_groups
from legalize.kernels.conv2d.x86.tiling import rescaling_units, units
from legalize.kernels.ir.registers import DWORD
from legalize.kernels.isa.amx import ROW_BYTES, ROWS
from legalize.kernels.isa.x86 import AVX512_VNNI

_GROUPS = 2
_TILES = 2

# In vector instructions, two of which a processor with AMX does in a cycle.
_PRODUCT = 32
_LOAD = 16
_PIXEL = 8
_SUMS = 1
_STEP = 80
_WORTH_IT = 0.8


@dataclass(frozen=True)
class TilePlan:
    """How a convolution is cut.

    Attributes:
        lines: Stretches of pixels at one pitch: one for all, one an image or one a row.
        line_pixels: Pixels of such a stretch, with those that are computed for nothing.
        row_pixels: Pixels from a row to the next one within a stretch.
        real_pixels: How many of these are pixels of the output.
        pitch: Bytes from a pixel to the next one.
        chunk: Bytes of the sum in a tile.
        chunks: Tiles for a run.
        tiling: Blocks of channels; ``pixels`` is how many a step has.
    """

    lines: int
    line_pixels: int
    row_pixels: int
    real_pixels: int
    pitch: int
    chunk: int
    chunks: int
    tiling: Tiling

    @property
    def rows(self) -> int:
        """Pixels of a tile."""
        return min(ROWS, self.line_pixels)

    @property
    def tiles_per_line(self) -> int:
        """Tiles that cover a stretch; the last one overlaps the one before."""
        return -(-self.line_pixels // self.rows)

    @property
    def tiles(self) -> int:
        """Tiles of pixels."""
        return self.lines * self.tiles_per_line

    @property
    def tiles_at_once(self) -> int:
        """Tiles of pixels in a step."""
        return min(_TILES, self.tiles)

    @property
    def steps(self) -> int:
        """Steps that cover the tiles; the last one repeats a tile if their number is odd."""
        return -(-self.tiles // self.tiles_at_once)


@cache
def choose_plan(spec: ConvSpec) -> TilePlan | None:
    """Cut a convolution into tiles.

    Returns:
        None where vectors do better.
    """
    if spec.staged_dtype != "uint8" or spec.run_length < DWORD:
        return None
    plan = cut(spec)
    return plan if tile_units(spec, plan) < _WORTH_IT * units(spec, AVX512_VNNI) else None


def cut(spec: ConvSpec) -> TilePlan:
    """Cut a convolution into tiles, worth it or not."""
    _, _, width, channels = spec.staged_shape
    stride_y, stride_x = spec.strides
    row, pitch = stride_y * width * channels, stride_x * channels
    # In order of preference: stretches, their pixels, from a row to the next one, real ones.
    ways = [(spec.batch * spec.out_height, spec.out_width, spec.out_width, spec.out_width)]
    if row % pitch == 0:
        row_pixels = row // pitch
        pixels = (spec.out_height - 1) * row_pixels + spec.out_width
        ways.insert(0, (spec.batch, pixels, row_pixels, spec.out_width))
    if spec.pixel_pitch is not None:
        ways.insert(0, (1, spec.out_pixels, spec.out_pixels, spec.out_pixels))
    chunk, chunks = _chunks(spec.run_length)
    plans = [TilePlan(*way, pitch, chunk, chunks, _tiling(spec, way[1])) for way in ways]
    return min(plans, key=lambda plan: plan.tiles)


def _chunks(run_length: int) -> tuple[int, int]:
    """Size and number of the chunks of a run: whole steps, none longer than the run."""
    count = -(-run_length // ROW_BYTES)
    chunk = -(-run_length // (count * DWORD)) * DWORD
    if chunk > run_length:
        chunk = run_length // DWORD * DWORD
    return chunk, -(-run_length // chunk)


def _tiling(spec: ConvSpec, line_pixels: int) -> Tiling:
    groups = AVX512_VNNI.vectors(spec.out_channels)
    is_ragged = spec.out_channels % AVX512_VNNI.lanes != 0
    cuts = split_groups(groups, min(groups, _GROUPS), is_ragged)
    rows = min(ROWS, line_pixels)
    return tuple(Section(first, blocks, width, rows) for first, blocks, width in cuts)


def tile_units(spec: ConvSpec, plan: TilePlan) -> float:
    """Estimate what a convolution takes, in the units of tiling.py."""
    at_once = plan.tiles_at_once
    total = 0.0
    for section in plan.tiling:
        groups = section.groups
        chunk = max(at_once * groups * _PRODUCT, (at_once + groups) * _LOAD)
        rescaling = rescaling_units(groups) + _SUMS * groups
        pixels = at_once * plan.rows * (_PIXEL + rescaling)
        total += section.blocks * plan.steps * (spec.runs * plan.chunks * chunk + pixels + _STEP)
    return total
