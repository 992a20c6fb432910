"""Convolution of uint8 data with int8 weights in AMX's tiles.

This is like ../kernel.py, but the sums of a turn, four tiles of pixels × vectors of channels, are
computed at once, and are rescaled from memory. That happens between the products of the next turn;
see slots.py:

    for each turn                               of all blocks of channels
      for each chunk of bytes of each run
        for each of four products
          load tiles of data and of weights
          in the first chunk                    store the sums of the turn before, load the bias
          multiply and add
          for some pixels of the turn before    that are the output's
            store(narrow(requantize(sums)))

A store of a tile takes as long as a product. It takes this time beside the products of other tiles,
but beside hardly anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section, first_byte
from legalize.kernels.conv2d.x86.amx.copies import copy_all, copy_pixel
from legalize.kernels.conv2d.x86.amx.cost import TILES_OF_SUMS
from legalize.kernels.conv2d.x86.amx.division import single_nanoseconds
from legalize.kernels.conv2d.x86.amx.near import hints
from legalize.kernels.conv2d.x86.amx.sizes import TileSizes, Turn, TurnSizes, has_one_line
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pixels import Pixels
from legalize.kernels.conv2d.x86.prefetch import fetch_ahead, fetch_also
from legalize.kernels.conv2d.x86.store import narrow_pixels
from legalize.kernels.ir.places import address
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.tasks import as_threads, loop_between, share
from legalize.kernels.ir.vectors import (
    DWORD,
    Index,
    Sums,
    Vector,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    unsigned_min,
)
from legalize.kernels.isa import amx
from legalize.kernels.isa.x86 import AVX512_VNNI

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.amx.plan import TilePlan

# The use of the eight tiles: sums, data, weights.
_SUMS, _DATA, _WEIGHTS = range(TILES_OF_SUMS), (4, 5), (6, 7)
TILES_OF_ROWS = (*_SUMS, *_DATA)
"""The tiles that have a row for each pixel."""
_LANES = AVX512_VNNI.lanes
# Values in a turn's tiles of sums, which memory holds until the next turn stores its own.
_TURN_SUMS = len(_SUMS) * amx.ROWS * _LANES


class TileKernel(ConvKernel):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: TilePlan, epilogue: Epilogue) -> None:
        """Write a plan's function."""
        self.plan = plan
        self.is_one_chunk = plan.runs * plan.chunks == 1
        self.cut = TileSizes.known(plan)
        self.turns = [TurnSizes.known(plan, section) for section in plan.tiling]
        super().__init__(plan, epilogue)

    @property
    def form(self) -> Hashable:
        """The facts on which the code depends; see ``ConvKernel``."""
        plan = self.plan
        sections = []
        for section in plan.tiling:
            slots = plan.slots(section)
            way = slots.rows, slots.after, hints(plan, section), has_one_line(plan, section)
            sections.append(way)
        facts = plan.has_gaps, self.is_one_chunk, self._writes_over_addend()
        return super().form, *facts, tuple(sections)

    def _tile_of(self, section: Section) -> int:
        return self.plan.tiles_at_once(section)

    def _microseconds(self) -> float:
        return single_nanoseconds(self.plan) / 1000

    def _k_steps_of_block(self) -> int:
        return self.plan.runs * self.plan.chunks * self.plan.chunk // DWORD

    @property
    def numbers_to_read(self) -> list[int]:
        """The numbers that a function of several convolutions reads."""
        own = chain(self.cut, *self.turns) if self.shares_sizes else ()
        return [*super().numbers_to_read, *own]

    def _read(self, table: Table) -> None:
        if self.shares_sizes:
            first = len(super().numbers_to_read)
            numbers = table.numbers(table.shape[0] - first, first)
            self.cut = TileSizes(*islice(numbers, len(self.cut)))
            self.turns = [TurnSizes(*islice(numbers, len(each))) for each in self.turns]
        super()._read(table)

    def _turns_in(self, section: Section) -> TurnSizes:
        return self.turns[self.tiling.index(section)]

    def _declare_last(self) -> None:
        size = amx.CONFIGURATION_BYTES
        self.configuration = T.arg("tile_configuration", T.buffer((size,), "uint8"))
        self.chunks = self._table("chunks", (self.plan.runs * self.plan.chunks,))
        places = self.plan.places.items()
        self.places = {name: self._table(name, each.shape) for name, each in places}

    def _table(self, name: str, shape: tuple[int, ...]) -> Table:
        return self.tables.parameter(name, shape, "int32", is_any=self.shares_sizes)

    def _declare(self) -> None:
        super()._declare()
        self.tiled = self.source
        if self.plan.copied == self.spec.out_pixels:
            self.tiled = copy_all(self.spec, self.plan.pitch, self.source, self.tasks)

    def _writes_over_addend(self) -> bool:
        # The tensor would be added twice to outputs that are computed twice.
        plan, fusion = self.plan, self.spec.fusion
        is_in_place = fusion.part is None and fusion.border is None
        if fusion.residual is None or not is_in_place or plan.tiles * plan.rows != plan.pixels:
            return False
        all_slots = [plan.slots(section) for section in plan.tiling]
        are_whole = all(plan.tiles % plan.tiles_at_once(section) == 0 for section in plan.tiling)
        return are_whole and all(each.count * each.rows == plan.rows for each in all_slots)

    @contextmanager
    def _task(self) -> Iterator[None]:
        amx.request_permission()
        self._configure()
        self.memory = T.alloc_buffer((_TURN_SUMS,), "int32", scope="global")
        if 0 < self.plan.copied < self.spec.out_pixels:
            size = self.plan.copied * self.plan.pitch
            self.tiled = T.alloc_buffer((size,), self.source.dtype, scope="global")
        yield
        amx.release()

    def _configure(self) -> None:
        amx.configure(self.configuration)

    def _whole(self, section: Section) -> None:
        turns = self._turns_in(section).turns
        with self._section(section):
            blocks = self._blocks_of(section)
            loop_between(0, blocks, lambda block: self._block(section, block, 0, turns))

    def _tasks_begun(self) -> Index:
        # Each task loads a configuration, and rescales its last turn without products beside it.
        self.begun = as_threads(self.sizes.tasks)
        return self.begun

    def _share(self, section: Section, task: Index) -> None:
        """Write a task's turns of a section: the same ones of each block, or some of all blocks."""
        sizes, blocks = self._turns_in(section), self._blocks_of(section)
        turns, is_each = sizes.turns, T.int32(sizes.of_thread) != 0
        units = kept(T.Select(is_each, turns, blocks * turns))
        start, stop = map(kept, share(task, self.begun, units))
        first = T.Select(is_each, 0, T.truncdiv(start, turns))
        end = T.Select(is_each, blocks, T.truncdiv(stop + turns - 1, turns))

        def block_share(block: Index) -> None:
            before = kept(T.Select(is_each, 0, block * turns))
            lowest, highest = T.max(start - before, 0), T.min(stop - before, turns)
            self._block(section, block, kept(lowest), kept(highest))

        with T.If(start < stop), T.Then(), self._section(section):
            loop_between(kept(first), kept(end), block_share)

    @contextmanager
    def _section(self, section: Section) -> Iterator[None]:
        """Write the code around a loop over blocks: it rescales the sums of the last turn."""
        # Before the first turn, there are no sums of a turn before.
        self.before = Turn(*(local_vector(1, "int64") for _ in Turn._fields))
        for each in self.before:
            set_lanes(each, T.int64(0), 1)
        yield
        for total in range(self.plan.tiles_at_once(section) * section.nr):
            self._store(section, total)
        last = self._turn_before()
        with T.serial(self.cut.rows) as row:
            self._rescale(section, last, row, 1)

    def _turn_before(self) -> Turn:
        return Turn(*(kept(get_lanes(each, 1)) for each in self.before))

    def _block(self, section: Section, block: Index, start: Index, stop: Index) -> None:
        """Write the loop over some turns of a block."""
        at_once = self.plan.tiles_at_once(section)
        first_vector = address(self._vector_of(section) + block * section.nr)
        slots = T.int32(self.turns[self.tiling.index(section)].slots)

        def turn(number: Index) -> None:
            tile = kept(self._first_tile(number * at_once, at_once))
            self._multiply(section, first_vector, tile, number)
            following = first_vector, tile, slots
            for each, value in zip(self.before, following, strict=True):
                set_lanes(each, T.Cast("int64", value), 1)

        loop_between(start, stop, turn)

    def _first_tile(self, tile: Index, at_once: int) -> Index:
        """Return the first tile of a turn; the last turn may repeat tiles."""
        return unsigned_min(tile, self.cut.tiles - at_once)

    def _multiply(
        self, section: Section, first_vector: Index, first_tile: Index, number: Index
    ) -> None:
        """Write the sums of a turn, and the stores and the rescaling of the turn before.

        Args:
            section: the section.
            first_vector: the first vector of channels.
            first_tile: the first tile of pixels.
            number: the number of the turn in its block.
        """
        plan, nr, at_once = self.plan, section.nr, self.plan.tiles_at_once(section)
        before = self._turn_before()
        if plan.copied == section.mr:
            self._copy(section, first_tile)
            origins = [(i * plan.rows * plan.pitch, plan.pitch) for i in range(at_once)]
        else:
            origins = [self._data_of(first_tile + i) for i in range(at_once)]
        products = [(i, j) for i in range(at_once) for j in range(nr)]
        fetch = self._fetch_next(section, first_vector, number)
        passes = hints(plan, section)
        weights = address(first_vector * self.vector_stride)
        piece = kept(T.Cast("int64", T.int32(self.cut.chunk)))
        with T.serial(self.cut.chunks) as chunk:
            offset = kept(T.Cast("int64", self.chunks[chunk]))
            fetch(chunk)
            begin = kept(weights + T.Cast("int64", chunk) * (nr * piece))
            for total, (i, j) in enumerate(products):
                data, vector = _DATA[i % len(_DATA)], _WEIGHTS[j % len(_WEIGHTS)]
                if i == 0:
                    place = begin + j * piece
                    amx.load(vector, self.weights, place, 4 * _LANES, passes=passes.weights)
                if j == 0:
                    origin, pitch = origins[i]
                    amx.load(data, self.tiled, origin + offset, pitch, passes=passes.data)
                with T.If(chunk == 0), T.Then():
                    self._store(section, total)
                    amx.load(_SUMS[total], self.bias.row, (first_vector + j) * _LANES, 0)
                amx.multiply_add(_SUMS[total], data, vector)
                self._rescale_between(section, before, chunk, total)

    def _rescale_between(self, section: Section, before: Turn, chunk: Index, product: int) -> None:
        """Write the slots after a product of a chunk, if there are any: some rows of a turn."""
        slots = self.plan.slots(section)
        if product not in slots.after:
            return
        number = slots.number(chunk, product)
        with ExitStack() as branch:
            if self.is_one_chunk:
                number = branch.enter_context(T.serial(T.Cast("int32", before.slots)))
            else:
                number = kept(number)
                # Without its sign, a negative number is large.
                branch.enter_context(
                    T.If(T.Cast("uint32", number) < T.Cast("uint32", before.slots))
                )
                branch.enter_context(T.Then())
            self._rescale(section, before, number * slots.rows, slots.rows)

    def _store(self, section: Section, total: int) -> None:
        """Write the store of a tile of sums."""
        tile, vector = divmod(total, section.nr)
        start = self._sums_of(section, tile, 0) + vector * _LANES
        amx.store(_SUMS[total], self.memory, start, 4 * _LANES * section.nr)

    def _fetch_next(
        self, section: Section, first_vector: Index, number: Index
    ) -> Callable[[Index], None]:
        """Return the function that writes a chunk's prefetches of the next block's weights.

        Blocks of one turn also prefetch: its products wait for weights, but the next block's need
        not.
        """
        sizes, chunks = self._turns_in(section), self.cut.chunks
        end = address((first_vector + section.nr) * self.vector_stride)
        lines = 1 if has_one_line(self.plan, section) else sizes.lines
        fetches = partial(fetch_ahead, self.weights, end, sizes.share, lines, chunks)
        if self.tasks == 1:
            return fetches(number)
        # Each of several threads may have only some turns, but need all weights.
        others = kept(T.Select(self.begun > 1, T.int32(sizes.of_thread), 0))
        return fetch_also(fetches(number), fetches(number + others), others > 0)

    def _copy(self, section: Section, first: Index) -> None:
        """Write the copies of a turn's pixels, given its first tile."""
        plan = self.plan
        for tile in range(plan.tiles_at_once(section)):
            pixel = kept(self._first_pixel(first + tile))
            with T.serial(plan.rows) as row:
                origin = first_byte(self.spec, pixel + row)
                place = (tile * plan.rows + row) * plan.pitch
                copy_pixel(self.spec, self.source, origin, self.tiled, place)

    def _rescale(self, section: Section, turn: Turn, first: Index, count: int) -> None:
        """Write the code that turns the sums of some rows of a turn's tiles into outputs.

        Args:
            section: the section.
            turn: the turn.
            first: the first row; near the end, the last possible one is taken.
            count: the number of consecutive rows.
        """
        first = address(unsigned_min(first, self.cut.rows - count))
        rows = [first + i for i in range(count)]
        outputs: list[Index] = []
        pixels: list[Index] = []
        acc = []
        for tile in range(self.plan.tiles_at_once(section)):
            found = self._outputs_of(turn.tile + tile, rows)
            outputs += found[0]
            pixels += found[1]
            for row in rows:
                acc.append([local_vector(_LANES) for _ in range(section.nr)])
                for j, vector in enumerate(acc[-1]):
                    start = self._sums_of(section, tile, row) + j * _LANES
                    sums = self.memory[T.ramp(start, 1, _LANES)]
                    if self.sums is not None:
                        sums = sums - T.broadcast(self.sums[pixels[len(acc) - 1]], _LANES)
                    set_lanes(vector, sums, _LANES)
        conditions = []
        if self.plan.has_gaps:
            conditions = [kept(output >= 0) for output in outputs]
            # No tensor that is added has an element at -1.
            outputs = [kept(T.max(output, T.int64(0))) for output in outputs]
        self._finish(section, turn.vector, Pixels(pixels), acc, conditions, outputs)

    def _narrowed(self, section: Section, acc: Sums) -> list[Vector]:
        """Return the outputs of pixels that have four vectors together."""
        if section.nr not in (1, 2) or self.spec.stored.fills_lanes:
            return []
        pixels = [[get_lanes(vector, _LANES) for vector in row] for row in acc]
        count = 4 // section.nr
        parts = [pixels[i : i + count] for i in range(0, len(pixels) - count + 1, count)]
        return [
            value
            for part in parts
            for value in narrow_pixels(self.spec.stored, part, self.zero_point)
        ]

    def _first_pixel(self, tile: Index) -> Index:
        """Return the number of a tile's first pixel, if all tiles follow each other."""
        return unsigned_min(tile * self.plan.rows, self.spec.out_pixels - self.plan.rows)

    def _data_of(self, tile: Index) -> tuple[Index, Index]:
        """Return the first byte that a tile of pixels reads, and the distance between pixels."""
        if not self.places:
            return self._first_pixel(tile) * self.plan.pitch, self.plan.pitch
        # LLVM would compute several places in a vector, and extract each one from it.
        offset, pitch = (address(self.places["tiles"][tile, column]) for column in range(2))
        return offset, pitch

    def _outputs_of(self, tile: Index, rows: Sequence[Index]) -> tuple[list[Index], list[Index]]:
        """Return the offsets and the numbers of the output pixels in rows of a tile.

        The offset is -1 for a row that is no output pixel. If no table has offsets, the list of
        offsets is empty. If the code needs no numbers, the offsets stand in their place.
        """
        if not self.places:
            first = kept(self._first_pixel(tile))
            return [], [kept(first + row) for row in rows]
        outputs = [address(self.places["outputs"][tile, row]) for row in rows]
        if "pixels" not in self.places:
            return outputs, outputs
        return outputs, [address(self.places["pixels"][tile, row]) for row in rows]

    def _sums_of(self, section: Section, tile: int, row: Index) -> Index:
        """Return the offset in memory of the sums of a row of a turn's tile of pixels."""
        return (tile * amx.ROWS + row) * (section.nr * _LANES)
