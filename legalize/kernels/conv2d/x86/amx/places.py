"""Tables of the places that the tiles of a plan read and write.

A function that looks up places serves pixels in any order, and divides no numbers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from legalize.kernels.conv2d.x86.pixels import distances, first_output
from legalize.kernels.ir.vectors import Array
from legalize.kernels.isa.amx import ROWS

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.amx.plan import TilePlan


@lru_cache(maxsize=1)  # the tables of a plan are made together
def _positions(plan: TilePlan) -> tuple[Array, Array]:
    """Return row and column of the pixel in each row of each tile: int [tiles, rows of a tile].

    Rows are counted through all images. Columns past the output's are those of unused pixels.
    """
    spec, rows, tile = plan.spec, np.arange(plan.rows), np.arange(plan.tiles)[:, None]
    line, number = np.divmod(tile, plan.tiles_per_line)
    pixel = np.minimum(number * plan.rows, plan.line_pixels - plan.rows) + rows
    y, x = np.divmod(pixel, plan.width)
    y += line * (spec.batch * spec.out_height // plan.lines)
    if plan.columns:
        column, number = np.divmod(tile - plan.tiles_across, plan.tiles_per_column)
        image, column = np.divmod(column, plan.columns)
        down = np.minimum(number * plan.rows, spec.out_height - plan.rows) + rows
        is_down = tile >= plan.tiles_across
        y = np.where(is_down, image * spec.out_height + down, y)
        x = np.where(is_down, plan.line_pixels + column, x)
    return y, x


def pixels_of_rows(plan: TilePlan) -> Array:
    """Return the number of the output pixel in each row of each tile: int32 [tiles, 16].

    It is -1 if the row is no output pixel.
    """
    y, x = _positions(plan)
    width = plan.spec.out_width
    pixels = np.where(x < width, y * width + x, -1)
    return np.pad(pixels, ((0, 0), (0, ROWS - plan.rows)), constant_values=-1).astype(np.int32)


def outputs_of_rows(plan: TilePlan) -> Array:
    """Return the offset of the output in each row of each tile: int32 [tiles, 16].

    It is -1 if the row is no output pixel.
    """
    spec, pixels = plan.spec, pixels_of_rows(plan)
    sizes = spec.batch, spec.out_height, spec.out_width
    image, y, x = np.unravel_index(np.maximum(pixels, 0), sizes)
    step, row, whole = distances(spec)
    offsets = first_output(spec) + image * whole + y * row + x * step
    return np.where(pixels < 0, -1, offsets).astype(np.int32)


def tile_places(plan: TilePlan) -> Array:
    """Return where each tile reads: int32 [tiles, 2].

    This is the offset of its first pixel's data, and the distance to the data of the next pixel.
    """
    spec = plan.spec
    y, x = (each[:, 0] for each in _positions(plan))
    image, y = np.divmod(y, spec.out_height)
    _, height, width, channels = spec.staged_shape
    down, across = spec.strides[0] * width * channels, spec.strides[1] * channels
    data = image * height * width * channels + y * down + x * across
    pitch = np.where(np.arange(plan.tiles) < plan.tiles_across, across, down)
    return np.stack([data, pitch], axis=1).astype(np.int32)


def chunk_places(plan: TilePlan) -> Array:
    """Return the offset of each chunk's data from that of a pixel: int32 [chunks of all runs]."""
    spec = plan.spec
    inside = np.minimum(np.arange(plan.chunks) * plan.chunk, plan.run_length - plan.chunk)
    rows, taps = (1, 1) if plan.copied else (spec.kernel_height, spec.runs_per_row)
    runs = [spec.run_start(row, tap) for row in range(rows) for tap in range(taps)]
    return np.add.outer(runs, inside).reshape(-1).astype(np.int32)
