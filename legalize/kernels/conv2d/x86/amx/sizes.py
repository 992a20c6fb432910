"""The sizes of a convolution in tiles: constants of its code, or numbers that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.amx.division import turns_of_thread
from legalize.kernels.conv2d.x86.prefetch import lines_of, share_of
from legalize.kernels.ir.vectors import Index

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.amx.plan import TilePlan


class TileSizes(NamedTuple):
    """Sizes of the tiles.

    Attributes:
        chunks: chunks of a sum.
        chunk: weights of a vector of channels in a chunk.
        rows: see ``TilePlan``.
        tiles: see ``TilePlan``.
    """

    chunks: Index
    chunk: Index
    rows: Index
    tiles: Index

    @classmethod
    def known(cls, plan: TilePlan) -> TileSizes:
        """Return the sizes of a plan."""
        return cls(
            chunks=plan.runs * plan.chunks,
            chunk=plan.chunk * plan.products.lanes,
            rows=plan.rows,
            tiles=plan.tiles,
        )


class TurnSizes(NamedTuple):
    """Sizes of the turns of a section.

    Attributes:
        turns: turns of a block of channels.
        slots: slots that rescale a turn's sums.
        share: weights that a chunk fetches ahead.
        lines: cache lines of that share.
        of_thread: the most turns of a block that a thread computes, if threads divide each block's
            turns; 0 if they divide the turns of all blocks.
    """

    turns: Index
    slots: Index
    share: Index
    lines: Index
    of_thread: Index

    @classmethod
    def known(cls, plan: TilePlan, section: Section) -> TurnSizes:
        """Return the sizes of a section."""
        slots, turns, vector = plan.slots(section), plan.turns_of_block(section), plan.vector_bytes
        share = share_of(section.nr * vector, plan.runs * plan.chunks, turns)
        return cls(
            turns=turns,
            slots=slots.count,
            share=share,
            lines=lines_of(share, plan.products.weight_dtype),
            of_thread=turns_of_thread(plan, section) if plan.is_by_pixels(section) else 0,
        )


class Turn(NamedTuple):
    """A turn whose sums are rescaled.

    Attributes:
        vector: its first vector of channels.
        tile: its first tile of pixels.
        slots: the slots that rescale its sums.
    """

    vector: Index
    tile: Index
    slots: Index


def has_one_line(plan: TilePlan, section: Section) -> bool:
    """Tell whether a chunk fetches one cache line ahead. A loop over one line would take longer."""
    return TurnSizes.known(plan, section).lines == 1
