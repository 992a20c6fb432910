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

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section, first_byte
from legalize.kernels.conv2d.x86.amx import division
from legalize.kernels.conv2d.x86.amx.copies import copy_all, copy_pixel
from legalize.kernels.conv2d.x86.amx.cost import TILES_OF_SUMS
from legalize.kernels.conv2d.x86.amx.near import hints
from legalize.kernels.conv2d.x86.amx.slots import Slots, slots_of
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pixels import Pixels
from legalize.kernels.conv2d.x86.prefetch import fetch_ahead, fetch_also, lines_of, share_of
from legalize.kernels.conv2d.x86.store import narrow_pixels
from legalize.kernels.ir.tasks import as_threads, loop_between, share
from legalize.kernels.ir.vectors import (
    DWORD,
    Expr,
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


class Place(NamedTuple):
    """The position of a tile of pixels.

    Attributes:
        line: the stretch of its first pixel.
        pixel: the index of its first pixel in the stretch.
        is_down: whether the other pixels are below it; None if this holds for no tile.
    """

    line: Index
    pixel: Index
    is_down: Expr | None = None


class TileKernel(ConvKernel):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: TilePlan, epilogue: Epilogue) -> None:
        """Write a plan's function."""
        self.plan = plan
        self.chunks = plan.runs * plan.chunks
        self.rows: Index = plan.rows  # of each tile of this run
        super().__init__(plan, epilogue)

    def _microseconds(self) -> float:
        return division.single_nanoseconds(self.plan) / 1000

    def _k_steps_of_block(self) -> int:
        return self.chunks * self.plan.chunk // DWORD

    def _declare_last(self) -> None:
        size = amx.CONFIGURATION_BYTES
        self.configuration = T.arg("tile_configuration", T.buffer((size,), "uint8"))

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
        all_slots = [self._slots(section) for section in plan.tiling]
        are_whole = all(plan.tiles % plan.tiles_at_once(section) == 0 for section in plan.tiling)
        return are_whole and all(each.count * each.rows == plan.rows for each in all_slots)

    def _slots(self, section: Section) -> Slots:
        at_once = self.plan.tiles_at_once(section)
        return slots_of(self.plan.rows, at_once, self.chunks, at_once * section.nr)

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

    def _turns_of_block(self, section: Section) -> Index:
        return self.plan.turns_of_block(section)

    def _all_turns(self, section: Section) -> Index:
        return section.blocks * self._turns_of_block(section)

    def _whole(self, section: Section) -> None:
        self._turns(section, self._all_turns(section), lambda place: place)

    def _tasks_begun(self) -> Index:
        # Each task loads a configuration, and rescales its last turn without products beside it.
        self.begun = as_threads(self.tasks)
        return self.begun

    def _is_by_pixels(self, section: Section) -> bool:
        return division.is_by_pixels(self.plan, section)

    def _share(self, section: Section, task: Index) -> None:
        """Write a task's turns: the same ones of each block, or some of all blocks."""
        turns, blocks = self._turns_of_block(section), 1
        units = self._all_turns(section)
        if is_by_pixels := self._is_by_pixels(section):
            units, blocks = turns, section.blocks
        first, end = map(kept, share(task, self.begun, units))
        count = kept(end - first)

        def number(place: Index) -> Index:
            if not is_by_pixels:
                return first + place
            return T.truncdiv(place, count) * turns + first + T.truncmod(place, count)

        with T.If(first < end), T.Then():
            self._turns(section, blocks * count, number)

    def _turns(self, section: Section, count: Index, number: Callable[[Index], Index]) -> None:
        """Write the loop over turns.

        Args:
            section: the section.
            count: the number of turns, at least 1.
            number: returns the number of the turn at an index in the order.
        """
        self._multiply(section, number(0))
        loop_between(
            1,
            count,
            lambda place: self._multiply(section, kept(number(place)), kept(number(place - 1))),
        )
        for total in range(self.plan.tiles_at_once(section) * section.nr):
            self._store(section, total)
        with T.serial(self.rows) as row:
            self._rescale(section, number(count - 1), row, 1)

    def _rescale_between(self, section: Section, turn: Index, chunk: Index, product: int) -> None:
        """Write the slot after a product of a chunk, if there is one: some rows of a turn."""
        slots = self._slots(section)
        if product not in slots.after:
            return
        number = slots.number(chunk, product)
        with ExitStack() as branch:
            if self.chunks == 1:
                number = branch.enter_context(T.serial(slots.count))
            elif product != slots.after[-1]:
                branch.enter_context(T.If(chunk > 0))
                branch.enter_context(T.Then())
            if slots.count <= (self.chunks - 1) * len(slots.after):
                branch.enter_context(T.If(number < slots.count))
                branch.enter_context(T.Then())
            self._rescale(section, turn, number * slots.rows, slots.rows)

    def _multiply(self, section: Section, turn: Index, before: Index | None = None) -> None:
        """Write the sums of a turn, and the stores and the rescaling of the turn before.

        Args:
            section: the section.
            turn: the turn, counted through all blocks.
            before: the turn before; None if there is none.
        """
        spec, plan, nr = self.spec, self.plan, section.nr
        at_once = plan.tiles_at_once(section)
        first_vector = self._first_vector(section, turn)
        first = self._first_tile(section, turn)
        if plan.copied == section.mr:
            self._copy(section, first)
            origins = [(i * plan.rows * plan.pitch, plan.pitch) for i in range(at_once)]
        else:
            origins = [self._origin_of_tile(first + i) for i in range(at_once)]
        products = [(i, j) for i in range(at_once) for j in range(nr)]
        height, taps = (1, 1) if plan.copied else (spec.kernel_height, spec.runs_per_row)
        piece = plan.chunk * _LANES
        fetch = self._fetch_next(section, first_vector, turn)
        passes = hints(plan, section)
        with T.serial(height) as ky, T.serial(taps) as kx:
            run = spec.run_start(ky, kx)
            with T.serial(plan.chunks) as k:
                offset = run + unsigned_min(k * plan.chunk, plan.run_length - plan.chunk)
                chunk = (ky * taps + kx) * plan.chunks + k
                fetch(chunk)
                weights = first_vector * self.vector_stride + chunk * (nr * piece)
                for total, (i, j) in enumerate(products):
                    data, vector = _DATA[i % len(_DATA)], _WEIGHTS[j % len(_WEIGHTS)]
                    if i == 0:
                        place = weights + j * piece
                        amx.load(vector, self.weights, place, 4 * _LANES, passes=passes.weights)
                    if j == 0:
                        origin, pitch = origins[i]
                        amx.load(data, self.tiled, origin + offset, pitch, passes=passes.data)
                    with T.If(chunk == 0), T.Then():
                        if before is not None:
                            self._store(section, total)
                        amx.load(_SUMS[total], self.bias.row, (first_vector + j) * _LANES, 0)
                    amx.multiply_add(_SUMS[total], data, vector)
                    if before is not None:
                        self._rescale_between(section, before, chunk, total)

    def _store(self, section: Section, total: int) -> None:
        """Write the store of a tile of sums."""
        tile, vector = divmod(total, section.nr)
        start = self._sums_of(section, tile, 0) + vector * _LANES
        amx.store(_SUMS[total], self.memory, start, 4 * _LANES * section.nr)

    def _fetch_next(
        self, section: Section, first_vector: Index, turn: Index
    ) -> Callable[[Index], None]:
        """Return the function that writes a chunk's prefetches of the next block's weights.

        Blocks of one turn also prefetch: its products wait for weights, but the next block's need
        not.
        """
        size, turns = section.nr * self.vector_stride, self.plan.turns_of_block(section)
        end = first_vector * self.vector_stride + size
        share = share_of(size, self.chunks, turns)
        lines = lines_of(share, self.weight_dtype)

        def fetches(turn: Index) -> Callable[[Index], None]:
            own = T.truncmod(turn, turns)
            return fetch_ahead(self.weights, end, share, lines, self.chunks, own)

        if self.tasks == 1 or not self._is_by_pixels(section):
            return fetches(turn)
        # Each of several threads has only its own turns, but needs all weights.
        others = fetches(turn + division.turns_of_thread(self.plan, section))
        return fetch_also(fetches(turn), others, self.begun > 1)

    def _copy(self, section: Section, first: Index) -> None:
        """Write the copies of a turn's pixels, given its first tile."""
        plan = self.plan
        for tile in range(plan.tiles_at_once(section)):
            pixel = self._place(first + tile).pixel
            with T.serial(plan.rows) as row:
                origin = first_byte(self.spec, pixel + row)
                place = (tile * plan.rows + row) * plan.pitch
                copy_pixel(self.spec, self.source, origin, self.tiled, place)

    def _rescale(self, section: Section, turn: Index, first: Index, count: int) -> None:
        """Write the code that turns the sums of some rows of a turn's tiles into outputs.

        Args:
            section: the section.
            turn: the turn, counted through all blocks.
            first: the first row; near the end, the last possible one is taken.
            count: the number of consecutive rows.
        """
        first = unsigned_min(first, self.rows - count)
        first_vector = self._first_vector(section, turn)
        outputs, conditions, acc = [], [], []
        for tile in range(self.plan.tiles_at_once(section)):
            place = self._place(self._first_tile(section, turn) + tile)
            for row in (first + i for i in range(count)):
                output, condition = self._output_of(place, row)
                outputs.append(output)
                if condition is not None:
                    conditions.append(condition)
                acc.append([local_vector(_LANES) for _ in range(section.nr)])
                for j, vector in enumerate(acc[-1]):
                    start = self._sums_of(section, tile, row) + j * _LANES
                    sums = self.memory[T.ramp(start, 1, _LANES)]
                    if self.sums is not None:
                        sums = sums - T.broadcast(self.sums[output], _LANES)
                    set_lanes(vector, sums, _LANES)
        self._finish(section, first_vector, Pixels(outputs), acc, conditions)

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

    def _first_vector(self, section: Section, turn: Index) -> Index:
        """Return the first vector of channels of a turn."""
        block = T.truncdiv(turn, self._turns_of_block(section))
        return section.first_vector + block * section.nr

    def _first_tile(self, section: Section, turn: Index) -> Index:
        """Return the first tile of pixels of a turn."""
        plan, at_once = self.plan, self.plan.tiles_at_once(section)
        number = T.truncmod(turn, plan.turns_of_block(section))
        return unsigned_min(number * at_once, plan.tiles - at_once)

    def _place(self, tile: Index) -> Place:
        """Return the position of a tile of pixels."""
        plan = self.plan
        number = T.truncmod(tile, plan.tiles_per_line)
        first = unsigned_min(number * plan.rows, plan.line_pixels - plan.rows)
        line = T.truncdiv(tile, plan.tiles_per_line)
        if plan.columns == 0:
            return Place(line, first)
        spec, number = self.spec, tile - plan.tiles_across
        y = T.truncmod(number, plan.tiles_per_column) * plan.rows
        y = unsigned_min(y, spec.out_height - plan.rows)
        column = T.truncdiv(number, plan.tiles_per_column)
        x = plan.line_pixels + T.truncmod(column, plan.columns)
        row = T.truncdiv(column, plan.columns) * spec.out_height + y
        is_down = kept(number >= 0)
        return Place(T.Select(is_down, row, line), T.Select(is_down, x, first), is_down)

    def _origin_of_tile(self, tile: Index) -> tuple[Index, Index]:
        """Return the first byte that a tile of pixels reads, and the distance between pixels."""
        spec, plan = self.spec, self.plan
        _, height, width, channels = spec.staged_shape
        line, pixel, is_down = self._place(tile)
        origin, pitch = pixel * plan.pitch, plan.pitch
        if plan.copied:
            return origin, pitch
        if plan.lines == spec.batch * spec.out_height:
            row = spec.strides[0] * width * channels
            image, y = T.truncdiv(line, spec.out_height), T.truncmod(line, spec.out_height)
            origin += image * (height * width * channels) + y * row
            if is_down is not None:
                pitch = T.Select(is_down, row, pitch)
        elif plan.lines > 1:
            origin += line * (height * width * channels)
        return origin, pitch

    def _output_of(self, place: Place, row: Index) -> tuple[Index, Expr | None]:
        """Return the output pixel in a row of a tile.

        Returns:
            Its number, or 0 if the row is no output pixel; and a condition that tells whether it
            is one, or None if all rows are.
        """
        spec, plan = self.spec, self.plan
        start = place.line * (spec.out_pixels // plan.lines)
        if place.is_down is not None:
            step = T.Select(place.is_down, spec.out_width, 1)
            return start + place.pixel + row * step, None
        pixel = place.pixel + row
        if plan.real_pixels == plan.row_pixels:
            return start + pixel, None
        y, x = T.truncdiv(pixel, plan.row_pixels), T.truncmod(pixel, plan.row_pixels)
        is_real = x < plan.real_pixels
        return T.Select(is_real, start + y * plan.real_pixels + x, 0), is_real

    def _sums_of(self, section: Section, tile: int, row: Index) -> Index:
        """Return the offset in memory of the sums of a row of a turn's tile of pixels."""
        return (tile * self.plan.rows + row) * (section.nr * _LANES)
