"""Tiles of a convolution's outputs, and their division among threads."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from math import inf

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.ir.tasks import loop_between, share
from legalize.kernels.ir.vectors import Index, kept, unsigned_min


@dataclass(frozen=True)
class Section:
    """Neighbouring blocks of output channels with the same tile.

    Attributes:
        first_vector: the first vector of channels.
        blocks: number of blocks.
        nr: vectors of channels in a block, and of a tile.
        mr: output pixels of a tile.
    """

    first_vector: int
    blocks: int
    nr: int
    mr: int


Tiling = tuple[Section, ...]


def split_vectors(vectors: int, width: int, is_ragged: bool) -> list[tuple[int, int, int]]:
    """Cut vectors of channels into blocks of ``width`` and a rest.

    Args:
        vectors: the number of vectors.
        width: vectors in a block.
        is_ragged: whether the channels do not fill the last vector. Then its block is a part of
            its own.

    Returns:
        (first vector, blocks, vectors in a block) of each part.
    """
    blocks, rest = divmod(vectors, width)
    pieces = [(blocks, width), (1, rest)]
    if is_ragged and not rest:
        pieces = [(blocks - 1, width), (1, width)]
    first = 0
    cut = []
    for count, nr in pieces:
        if count and nr:
            cut.append((first, count, nr))
            first += count * nr
    return cut


def cheapest_tiling(
    channels: int,
    lanes: int,
    most: int,
    tiles: Callable[[int], Iterable[tuple[float, int]]],
    more: float = 0.0,
) -> Tiling:
    """Choose the widths of blocks, and their tiles; the first of equally cheap ones.

    Args:
        channels: the number of output channels.
        lanes: channels of a vector.
        most: the most vectors of a block.
        tiles: lists the possible tiles of a block of some vectors: (cost of the block, pixels).
        more: the share of all cost that each section after the first one adds.

    Returns:
        Sections that cover the vectors of output channels in order. Channels that do not fill
        a vector are in a section of one block.
    """
    vectors, is_ragged = -(-channels // lanes), channels % lanes != 0
    cheapest = cache(lambda nr: min(tiles(nr), default=(inf, 0)))
    choices = []
    for width in range(1, min(vectors, most) + 1):
        total, sections = 0.0, []
        for first, blocks, nr in split_vectors(vectors, width, is_ragged):
            cost, mr = cheapest(nr)
            total += blocks * cost
            sections.append(Section(first, blocks, nr, mr))
        choices.append((total * (1 + more * (len(sections) - 1)), tuple(sections)))
    return min(choices, key=lambda choice: choice[0])[1]


def tiles_of(spec: ConvSpec, section: Section) -> int:
    """Count the tiles that cover the output pixels for one block of channels."""
    return -(-spec.out_pixels // section.mr)


def share_tiles(
    blocks: Index,
    tiles: Index,
    task: Index,
    tasks: Index,
    write: Callable[[Index, Index, Index], None],
) -> None:
    """Write one task's loops over a section: neighbouring tiles, block after block.

    Args:
        blocks: the number of the section's blocks.
        tiles: the number of tiles of a block.
        task: the task's number.
        tasks: the number of tasks that share the section.
        write: writes the loop over tiles of a block, given the block's number, the first tile and
            the end of the tiles.
    """
    start, stop = map(kept, share(task, tasks, blocks * tiles))
    if isinstance(blocks, int) and blocks == 1:
        write(0, start, stop)
        return

    def block_share(block: Index) -> None:
        block = kept(block)
        first = kept(block * tiles)
        write(block, T.max(start - first, 0), T.min(stop - first, tiles))

    loop_between(T.truncdiv(start, tiles), T.truncdiv(stop + tiles - 1, tiles), block_share)


class TileLoops(ABC):
    """The writer of a function's loops over tasks, blocks of channels and tiles.

    Attributes:
        tiling: the tiles.
        tasks: the number of tasks.
    """

    tiling: Tiling
    tasks: int

    @property
    @abstractmethod
    def _pixels(self) -> Index:
        """Pixels of the output, over all images."""

    @property
    def _known_tasks(self) -> Index:
        """The number of tasks in the code."""
        return self.tasks

    @abstractmethod
    def _tile(self, section: Section, block: Index, first: Index) -> None:
        """Write the computation of one tile, whose first pixel is ``first``."""

    def _loops(self) -> None:
        """Write the loops over tasks, blocks of channels and tiles."""
        if self.tasks == 1:
            with self._task():
                for section in self.tiling:
                    self._whole(section)
            return
        with T.parallel(self._tasks_begun()) as task, self._task():
            for section in self.tiling:
                self._share(section, task)

    def _tasks_begun(self) -> Index:
        """Return how many of the possible tasks a run has."""
        return self._known_tasks

    def _task(self) -> AbstractContextManager[None]:
        """Write the code of a thread around its share."""
        return nullcontext()

    def _tiles_in(self, section: Section) -> Index:
        return divided(self._pixels + section.mr - 1, section.mr)

    def _blocks_of(self, section: Section) -> Index:
        """Return the number of a section's blocks."""
        return section.blocks

    def _whole(self, section: Section) -> None:
        """Write the loops over a section."""
        with T.serial(self._blocks_of(section)) as block:
            self._tiles(section, block, 0, self._tiles_in(section))

    def _share(self, section: Section, task: Index) -> None:
        """Write one task's loops over a section."""
        blocks, tiles = self._blocks_of(section), self._tiles_in(section)
        share_tiles(blocks, tiles, task, self._known_tasks, partial(self._tiles, section))

    def _tiles(self, section: Section, block: Index, start: Index, stop: Index) -> None:
        """Write a loop over tiles by their first pixels; the last one overlaps the one before."""
        last = kept(self._pixels - section.mr)

        def tile(number: Index) -> None:
            self._tile(section, block, kept(unsigned_min(number * section.mr, last)))

        loop_between(start, stop, tile)


def divided(value: Index, size: int) -> Index:
    """Divide a size by a number that the code knows."""
    return value // size if isinstance(value, int) else T.truncdiv(value, size)


def lies_in_line(spec: ConvSpec, mr: int) -> bool:
    """Tell whether the pixels of every tile of ``mr`` read data at equal distances."""
    return spec.pixel_pitch is not None or spec.out_width % mr == 0


@dataclass(frozen=True)
class Origins:
    """The offsets at which the pixels of a tile begin to read the staged data.

    Attributes:
        begins: the offset of each pixel's first byte; only that of the first pixel, if the others
            read at equal distances.
        steps: the difference of each pixel's offset to that of the first one.
    """

    begins: list[Index]
    steps: list[int]

    def plus(self, offset: Index) -> list[Index]:
        """Return the offsets of the bytes at a distance from each pixel's first byte.

        The part that differs between pixels is added last, so that it is part of an instruction,
        and the pixels share one register for their address.
        """
        if len(self.begins) > 1:
            return [begin + offset for begin in self.begins]
        begin = kept(self.begins[0] + offset)
        return [begin + step for step in self.steps]


def origins_of(spec: ConvSpec, first: Index, mr: int) -> Origins:
    """Return the offsets at which a tile's pixels read, given the number of the first pixel.

    Args:
        spec: the convolution.
        first: the first pixel.
        mr: the number of pixels.
    """
    if not lies_in_line(spec, mr):
        begins = [kept(first_byte(spec, first + i)) for i in range(mr)]
        return Origins(begins, [0] * mr)
    pitch = spec.strides[1] * spec.staged_channels
    begin = kept(first_byte(spec, first))
    return Origins([begin], [i * pitch for i in range(mr)])


def first_byte(spec: ConvSpec, pixel: Index) -> Index:
    """Return the offset in the staged data of the first byte that an output pixel reads."""
    if spec.pixel_pitch is not None:
        return pixel * spec.pixel_pitch
    _, height, width, channels = spec.staged_shape
    stride_y, stride_x = spec.strides
    row, x = T.truncdiv(pixel, spec.out_width), T.truncmod(pixel, spec.out_width)
    if spec.batch == 1:
        return (row * stride_y * width + x * stride_x) * channels
    image, y = T.truncdiv(row, spec.out_height), T.truncmod(row, spec.out_height)
    return ((image * height + y * stride_y) * width + x * stride_x) * channels
