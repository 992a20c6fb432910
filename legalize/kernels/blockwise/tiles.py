"""Dense layers of many rows that multiply integers in AMX's tiles.

    each block of a row as integers               as in integers.py
    for each group of units                       in parallel, if there is work for several
      bytes = its weights, less their zero points
      for each tile of rows
        for each block of the depth
          sums = products of the block's rows and bytes
          totals += the sums of an earlier block · (value · scale)
        output = totals

Products and totals occupy different units of the processor, which work at the same time if their
instructions alternate. So the products of two blocks are on their way while a third one's sums are
added to totals.

Weights of 8 bits are multiplied where they are. Another product subtracts their zero point.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.blockwise.integers import Data, field_of, load_units, quantized
from legalize.kernels.blockwise.kernel import Weights, declared, store_group
from legalize.kernels.blockwise.spec import GROUP, QUAD, Blockwise
from legalize.kernels.ir.sums import zeros
from legalize.kernels.ir.tasks import as_threads, loop_between, share, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    fetch,
    get_lanes,
    kept,
    set_lanes,
    splat,
    spread,
    unsigned_min,
)
from legalize.kernels.isa import amx
from legalize.kernels.isa.x86_vectors import AVX512_VNNI as ISA
from legalize.written import new_function

_MOST_POINT = 128
"""The greatest zero point whose negative fits int8."""
_ROW = QUAD * GROUP
"""The bytes of a row of a tile of weights or sums."""
# The tiles of both products that are on their way, and that of zero points.
_SUMS, _ROWS, _BYTES, _POINTS = (0, 1), (2, 3), (4, 5), 6


def is_served(spec: Blockwise, points: tuple[float, float]) -> bool:
    """Tell whether tiles compute a layer, and faster than the vectors of AVX512-VNNI.

    Args:
        spec: the layer.
        points: the least and the greatest zero point.
    """
    least, greatest = points
    fits_bytes = least >= 0 and greatest <= _MOST_POINT
    if spec.in_byte == 1 and least < greatest:  # a weight less its zero point needs nine bits
        fits_bytes = False
    return fits_bytes and nanoseconds(spec) < vector_nanoseconds(spec)


def _chunk(spec: Blockwise) -> int:
    """Return the neighbours along the depth in a tile: as many as share a block, and fit."""
    return next(size for size in range(amx.ROW_BYTES, 0, -QUAD) if spec.size % size == 0)


def nanoseconds(spec: Blockwise) -> float:
    """Estimate the time of a layer in tiles on one thread, without that of its data's integers.

    The numbers were fitted to some 18 layers on a Xeon with AMX.
    """
    rows = min(spec.rows, amx.ROWS)
    products = spec.size // _chunk(spec)
    block = 4 + 1.1 * rows + 6 * (products - 1)
    widening = 0.23 * spec.depth if spec.in_byte > 1 else 0.0
    turns = -(-spec.rows // rows)
    return 400 + spec.groups * (widening + turns * (50 + spec.blocks * block))


def vector_nanoseconds(spec: Blockwise) -> float:
    """Estimate the time of a layer in vectors likewise."""
    return spec.rows * spec.groups * spec.blocks * (0.3 + 0.065 * spec.size)


@cache
def tile_rows(spec: Blockwise) -> tirx.PrimFunc:
    """Build the function of a layer, which has the arguments of ``integer_rows``."""
    with new_function("blockwise_tiles") as builder:
        source, weights, target = declared(spec)
        kernel = _Tiles(spec, weights, quantized(spec, source, has_sums=False), target)
        tasks = task_count(nanoseconds(spec) / 1000)
        if tasks == 1:
            kernel.write(0, spec.groups)
        else:
            threads = as_threads(tasks)
            with T.parallel(threads) as task:
                kernel.write(*share(task, threads, spec.groups))
    return builder.get()


@dataclass(frozen=True)
class _Tiles:
    """Writes the loops over tiles of rows by a group of units."""

    spec: Blockwise
    weights: Weights
    data: Data
    target: Buffer

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return min(self.spec.rows, amx.ROWS)

    def write(self, start: Index, stop: Index) -> None:
        """Write the tiles of a task's groups of units."""
        spec, chunk = self.spec, _chunk(self.spec)
        memory = T.alloc_buffer((2 * self.rows * GROUP,), "int32", scope="global")
        sums, rows, weights = (self.rows, _ROW), (self.rows, chunk), (chunk // QUAD, _ROW)
        amx.request_permission()
        amx.configure_as([sums] * 2 + [rows] * 2 + [weights] * 3, memory)
        widened = None
        if spec.in_byte > 1:
            widened = T.alloc_buffer((spec.depth * GROUP,), "int8", scope="global")
        elif spec.middle:
            self._load_points(memory)

        def group(number: Index) -> None:
            number = kept(number)
            if widened is not None:
                self._widen(number, widened)
            with T.serial(-(-spec.rows // self.rows)) as turn:
                row = kept(unsigned_min(turn * self.rows, spec.rows - self.rows))
                _Turn(self, widened, memory, number, row).write()

        loop_between(start, stop, group)
        amx.release()

    def _load_points(self, memory: Buffer) -> None:
        """Write the load of a tile with the negative of the common zero point."""
        words = np.full(GROUP * QUAD, -self.spec.middle, np.int8).view(np.int32)
        T.buffer_store(memory, splat("int32", int(words[0]), GROUP), [T.ramp(0, 1, GROUP)])
        amx.load(_POINTS, memory, 0, 0)

    def place_of(self, group: Index) -> tuple[Index, Index]:
        """Return the number of a group's adjacent units, and its first unit among them."""
        in_adjacent = self.spec.adjacent // GROUP
        number = kept(T.truncdiv(group, T.int32(in_adjacent)))
        return number, kept((group - number * in_adjacent) * GROUP)

    def _widen(self, group: Index, target: Buffer) -> None:
        """Write a group's weights less their zero points: int8, quad by quad along the depth."""
        spec, place = self.spec, self.place_of(group)
        steps = spec.size // QUAD // spec.in_byte
        with T.serial(spec.blocks) as block:
            _, points = self.weights.numbers(place[0], block, place[1], GROUP)
            every = T.Cast(f"uint32x{GROUP}", points) * splat("uint32", 0x01010101, GROUP)
            point = kept(T.reinterpret(f"uint8x{_ROW}", every))
            with T.serial(steps) as turn:
                step = kept(block * steps + turn)
                loaded = load_units(spec, self.weights.buffers[0], place, step, GROUP)
                for field in range(spec.in_byte):
                    value = field_of(spec, loaded, field, GROUP) - point
                    index = T.ramp((step * spec.in_byte + field) * _ROW, 1, _ROW)
                    T.buffer_store(target, T.reinterpret(f"int8x{_ROW}", value), [index])


class _Turn:
    """Writes the totals of a tile of rows by a group of units.

    The products of neighbouring blocks alternate between two tiles, and their sums between two
    halves of a buffer.
    """

    def __init__(
        self, tiles: _Tiles, widened: Buffer | None, memory: Buffer, group: Index, row: Index
    ) -> None:
        self.tiles, self.spec = tiles, tiles.spec
        self.widened, self.memory = widened, memory
        self.group, self.row = group, row
        self.place = tiles.place_of(group)
        self.totals = zeros(tiles.rows, 1, GROUP)

    def write(self) -> None:
        """Write the loop over pairs of blocks, and the blocks after which no pair begins."""
        blocks = self.spec.blocks
        for number in range(min(2, blocks)):
            self._multiply(T.int32(number), number)
            if number == 0:
                self._store(0)
        pairs = max(blocks - 2, 0) // 2
        if pairs:
            with T.serial(pairs) as pair:
                for number in (0, 1):
                    self._step(kept(2 * pair + number), number, 2)
        for block in range(2 * pairs, blocks):
            self._step(T.int32(block), block % 2, min(2, blocks - 1 - block))
        for number, (total,) in enumerate(self.totals):
            value = get_lanes(total, GROUP)
            store_group(self.spec, self.tiles.target, self.row + number, self.group, value)

    def _step(self, block: Index, number: int, follow: int) -> None:
        """Add a block's sums to totals, beside the products of up to two blocks that follow."""
        rows = self.tiles.rows
        if follow > 1:
            self._multiply(kept(block + 2), number)
        self._add(block, number, range(rows // 2))
        if follow:
            self._store(1 - number)
        self._add(block, number, range(rows // 2, rows))

    def _multiply(self, block: Index, number: int) -> None:
        """Write a block's products in one of the tiles of sums."""
        spec, chunk = self.spec, _chunk(self.spec)
        sums, rows, weights = _SUMS[number], _ROWS[number], _BYTES[number]
        amx.clear(sums)
        self._fetch(block)
        for first in range(0, spec.size, chunk):
            k = block * spec.size + first
            amx.load(rows, self.tiles.data.steps, kept(self.row * spec.depth + k), spec.depth)
            if self.widened is not None:
                amx.load(weights, self.widened, kept(k * GROUP), _ROW)
                amx.multiply_add(sums, rows, weights, "ss")
                continue
            (group, unit), pitch = self.place, QUAD * spec.adjacent
            place = (group * spec.depth + k) * spec.adjacent + unit * QUAD
            amx.load(weights, self.tiles.weights.buffers[0], kept(place), pitch)
            amx.multiply_add(sums, rows, weights, "su")
            if spec.middle:
                amx.multiply_add(sums, rows, _POINTS, "ss")

    def _fetch(self, block: Index) -> None:
        """Prefetch a line of the next group's weights, unless weights are widened.

        Loads of tiles would wait for weights that are in no near cache.
        """
        if self.widened is not None:
            return
        group, turn = self.spec.depth * GROUP, T.truncdiv(self.row, self.tiles.rows)
        line = turn * self.spec.blocks + block
        place = kept((self.group + 1) * group + line * amx.ROW_BYTES)
        fetch(self.tiles.weights.buffers[0], place, level=2)

    def _store(self, number: int) -> None:
        amx.store(_SUMS[number], self.memory, self._place_of_sums(number, 0), _ROW)

    def _place_of_sums(self, number: int, row: int) -> int:
        return (number * self.tiles.rows + row) * GROUP

    def _add(self, block: Index, number: int, rows: range) -> None:
        """Add a block's sums of some rows to their totals."""
        scale, _ = self.tiles.weights.numbers(*(self.place[0], block, self.place[1]), GROUP)
        for row in rows:
            (total,) = self.totals[row]
            found = self.memory[T.ramp(self._place_of_sums(number, row), 1, GROUP)]
            value = self.tiles.data.values[(self.row + row) * self.spec.blocks + block]
            factor = scale * spread(kept(value), GROUP)
            real = T.Cast(f"float32x{GROUP}", found)
            set_lanes(total, ISA.multiply_add(real, factor, get_lanes(total, GROUP)), GROUP)
