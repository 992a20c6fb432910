"""Convolution of uint8 data with kernels of 3 × 3, 1 × 3 or 3 × 1 by Winograd's transform.

This is like ../kernel.py, but the sums are products of transformed data and weights:

    for each task
      for each panel of tiles, of 2 × 2 or 4 × 4 outputs each for 3 × 3
        transform the data
        for each block of output channels
          for each position of the transform
            for each group of tiles
              sums of products
          for each tile
            transform the sums
            store(narrow(requantize(outputs + bias)))

A group's values are stored together, so a tile's values of all positions, which are accessed one
after the other, are in few pages. For each position they are stored in chunks of a vector's
channels, tile by tile: then neighbouring tiles lie equally far apart, however many channels there
are.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section, divided
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pixels import Pixels
from legalize.kernels.conv2d.x86.prefetch import fetch_ahead, lines_of, share_of
from legalize.kernels.conv2d.x86.sizes import inverse, multiples, parts
from legalize.kernels.conv2d.x86.winograd.combine import both_ways
from legalize.kernels.ir.places import address, rolled
from legalize.kernels.ir.tables import Table
from legalize.kernels.ir.tasks import loop_between, share
from legalize.kernels.ir.vectors import (
    DWORD,
    Index,
    Vector,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    unsigned_min,
)
from legalize.kernels.isa.x86 import WordDots
from legalize.kernels.isa.x86_instructions import wrapped

if TYPE_CHECKING:
    from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan

# Outputs of a tile that are finished together; all 4 × 4 would not stay in registers.
_PIXELS = 4

SHARED_BYTES = 1 << 19
"""Bytes of transformed data, and of sums, for which a function of several convolutions has room."""


class Cut(NamedTuple):
    """Sizes of the cut, for loops and addresses.

    Attributes:
        columns: see ``WinogradPlan``.
        by_columns: its inverse.
        rows: see ``WinogradPlan``.
        by_rows: its inverse.
        tiles: see ``WinogradPlan``.
        panel: see ``WinogradPlan``.
        panels: see ``WinogradPlan``.
        groups: groups of a panel.
        channels: input channels.
        chunks: chunks of these; the last one overlaps the one before.
        data_stride: values of a group from a position to the next one.
    """

    columns: Index
    by_columns: Index
    rows: Index
    by_rows: Index
    tiles: Index
    panel: Index
    panels: Index
    groups: Index
    channels: Index
    chunks: Index
    data_stride: Index

    @classmethod
    def known(cls, plan: WinogradPlan) -> Cut:
        """Return the sizes of a plan."""
        words = 2 * plan.products.isa.lanes
        return cls(
            columns=plan.columns,
            by_columns=inverse(plan.columns),
            rows=plan.rows,
            by_rows=inverse(plan.rows),
            tiles=plan.tiles,
            panel=plan.panel,
            panels=plan.panels,
            groups=plan.panel // plan.group,
            channels=plan.spec.in_channels,
            chunks=-(-plan.spec.in_channels // words),
            data_stride=plan.data_stride // 2,
        )


class WinogradKernel(ConvKernel):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: WinogradPlan, epilogue: Epilogue) -> None:
        """Write a plan's function."""
        self.plan = plan
        self.wraps = isinstance(plan.products, WordDots)
        self.cut = Cut.known(plan)
        super().__init__(plan, epilogue)
        self.chunk_stride = plan.group * self.words
        self.sums_stride = plan.sums_stride // 4

    @property
    def form(self) -> Hashable:
        """The facts on which the code depends; see ``ConvKernel``."""
        return super().form, self.plan.transform

    def _task_count(self) -> int:
        return self.plan.tasks

    def _share_of(self, section: Section) -> int:
        size = section.nr * self.products.part_size
        return share_of(size, 1, self.plan.panel // self.plan.group)

    def _k_steps_of_block(self) -> int:
        return self.plan.transform.positions * self.spec.in_channels // DWORD

    @property
    def numbers_to_read(self) -> list[int]:
        """The numbers that a function of several convolutions reads."""
        return [*super().numbers_to_read, *(self.cut if self.shares_sizes else ())]

    def _read(self, table: Table) -> None:
        if self.shares_sizes:
            first = len(super().numbers_to_read)
            self.cut = Cut(*table.numbers(len(self.cut), first))
        super()._read(table)

    def _loops(self) -> None:
        units = kept(self.cut.panels * self._all_blocks)
        if self.tasks == 1:
            self._units(0, units)
            return
        with T.parallel(self.sizes.tasks) as task:
            self._units(*map(kept, share(task, self.sizes.tasks, units)))

    @property
    def _all_blocks(self) -> Index:
        """Blocks of channels of all sections."""
        return reduce(add, map(self._blocks_of, self.tiling))

    def _units(self, start: Index, stop: Index) -> None:
        """Write the loops over neighbouring blocks of neighbouring panels."""
        plan, cut, blocks = self.plan, self.cut, kept(self._all_blocks)
        positions = cut.groups * plan.transform.positions
        data, sums = positions * cut.data_stride, positions * self.sums_stride
        if self.shares_sizes:
            # TVM allocates memory at the start of a function, before it reads sizes.
            data, sums = SHARED_BYTES // 2, SHARED_BYTES // 4
        self.transformed = T.alloc_buffer((data,), "int16", scope="global")
        self.multiplied = T.alloc_buffer((sums,), "int32", scope="global")

        def panel(number: Index) -> None:
            first = kept(unsigned_min(number * cut.panel, kept(cut.tiles - cut.panel)))
            with T.serial(cut.groups) as group, T.serial(plan.group) as tile:
                self._transform(first, group, tile)
            before = number * blocks
            for section in plan.tiling:
                lowest, highest = start - before, stop - before
                if self.tasks == 1:
                    lowest, highest = 0, self._blocks_of(section)
                self._blocks(section, first, lowest, highest)
                before += self._blocks_of(section)

        loop_between(T.truncdiv(start, blocks), T.truncdiv(stop + blocks - 1, blocks), panel)

    def _blocks(self, section: Section, first: Index, start: Index, stop: Index) -> None:
        """Write the loop over a section's blocks between two numbers."""

        def block(number: Index) -> None:
            first_vector = kept(self._vector_of(section) + number * section.nr)
            with T.serial(self.plan.transform.positions) as position:
                self._multiply(section, first_vector, position)
            with T.serial(self.cut.groups) as group, T.serial(self.plan.group) as tile:
                self._end(section, first_vector, first, group, tile)

        loop_between(T.max(start, 0), T.min(stop, self._blocks_of(section)), block)

    def _place(self, tile: Index) -> tuple[Index, Index, Index]:
        """Return the image, row and column of the first output of a tile."""
        plan, cut, sizes = self.plan, self.cut, self.sizes
        row, column = parts(tile, cut.columns, cut.by_columns)
        image: Index = 0
        if self.spec.batch > 1:
            image, row = parts(row, cut.rows, cut.by_rows)
        y, x = plan.transform.y.tile_outputs, plan.transform.x.tile_outputs
        row = kept(unsigned_min(row * y, kept(sizes.lines - y)))
        return image, row, kept(unsigned_min(column * x, kept(sizes.line - x)))

    def _transform(self, first: Index, group: Index, tile: Index) -> None:
        """Write the transform of the data of a group's tile."""
        plan, sizes, words = self.plan, self.sizes, self.words
        y, x = plan.transform.y, plan.transform.x
        image, row, column = self._place(kept(first + group * plan.group + tile))
        origin = image * sizes.image + row * sizes.row + column * sizes.pixel
        origin = address(origin)
        rows_at, columns_at = multiples(sizes.row, y.extent), multiples(sizes.pixel, x.extent)
        target = address(self._data_place(0, group, tile))

        with T.serial(self.cut.chunks) as chunk:
            offset = unsigned_min(chunk * words, self.cut.channels - words)
            starts = [kept(origin + offset + at) for at in rows_at]

            def load(i: int, j: int) -> Vector:
                place = starts[i] + columns_at[j]
                return T.Cast(f"int16x{words}", self.source[T.ramp(place, 1, words)])

            rows = both_ways(y.data, x.data, load, wraps=False)
            begin = kept(target + chunk * self.chunk_stride)
            for position, value in enumerate(value for row in rows for value in row):
                place = begin + position * self.cut.data_stride
                T.buffer_store(self.transformed, value, [T.ramp(place, 1, words)])

    @property
    def words(self) -> int:
        """Channels of a chunk: those of a vector of words."""
        return 2 * self.isa.lanes

    def _multiply(self, section: Section, first_vector: Index, position: Index) -> None:
        """Write the sums of products of a position of the transform."""
        plan, products, cut, lanes = self.plan, self.products, self.cut, self.isa.lanes
        nr, group = section.nr, plan.group
        k_step_size = nr * products.part_size
        steps = kept(divided(cut.channels, 2))
        weights = first_vector * self.vector_stride + position * (steps * k_step_size)
        weights = address(weights)

        with T.serial(cut.groups) as number:
            sums = [[local_vector(products.lanes) for _ in range(nr)] for _ in range(group)]
            for row in sums:
                for vector in row:
                    set_lanes(vector, T.broadcast(T.int32(0), products.lanes), products.lanes)
            end = weights + steps * k_step_size
            is_first = section.first_vector == 0
            share = self.sizes.share if is_first else self.sizes.last_share
            lines = lines_of(k_step_size, self.weight_dtype)
            fetch = fetch_ahead(self.weights, end, share, lines, steps, number)
            begin = address(self._data_place(position, number, 0))

            with T.serial(cut.chunks) as chunk:
                # The last chunk repeats channels of the one before.
                first = kept(T.max(chunk * lanes + (lanes - steps), 0))
                data_at = address(begin + chunk * self.chunk_stride + 2 * first)
                weights_at = address(weights + chunk * (lanes * k_step_size))
                with T.serial(rolled(lanes - first)) as k:
                    fetch(chunk * lanes + k)
                    for tile, row in enumerate(sums):
                        place = data_at + tile * self.words + 2 * k
                        (data,) = products.load_data(self.transformed, place)
                        for j, vector in enumerate(row):
                            place = weights_at + k * k_step_size + j * products.part_size
                            factors = products.load_weights(self.weights, place)
                            total = products.multiply_add(
                                get_lanes(vector, products.lanes), data, factors
                            )
                            set_lanes(vector, total, products.lanes)

            sums_at = address(self._sums_place(position, number))
            for tile, row in enumerate(sums):
                for j, vector in enumerate(row):
                    place = T.ramp(sums_at + (tile * nr + j) * lanes, 1, lanes)
                    T.buffer_store(self.multiplied, get_lanes(vector, products.lanes), [place])

    def _end(
        self, section: Section, first_vector: Index, first: Index, group: Index, tile: Index
    ) -> None:
        """Write the code that turns the sums of a group's tile into outputs."""
        plan, lanes, nr = self.plan, self.isa.lanes, section.nr
        y, x = plan.transform.y, plan.transform.x
        image, row, column = self._place(kept(first + group * plan.group + tile))
        pixel = (image * self.sizes.lines + row) * self.sizes.line + column
        target = address(self.place.at(image, row, column))

        sums_at = address(self._sums_place(0, group) + tile * (nr * lanes))
        is_divided = self.epilogue.factor == 1

        def vector(number: int) -> list[list[Vector]]:
            def load(i: int, j: int) -> Vector:
                place = sums_at + (i * x.extent + j) * self.sums_stride + number * lanes
                sums = self.multiplied[T.ramp(place, 1, lanes)]
                if is_divided or i * x.extent + j != plan.transform.shared_position:
                    return sums
                bias = self.bias[first_vector + number, T.ramp(0, 1, lanes)]
                return wrapped("add", sums, bias) if self.wraps else sums + bias

            return both_ways((y.outputs,), (x.outputs,), load, wraps=self.wraps)

        values = [vector(number) for number in range(nr)]
        rows = max(1, _PIXELS // x.tile_outputs)
        for top in range(0, y.tile_outputs, rows):
            places = [
                (i, j)
                for i in range(top, min(top + rows, y.tile_outputs))
                for j in range(x.tile_outputs)
            ]
            acc = [[local_vector(lanes) for _ in range(nr)] for _ in places]
            for number in range(nr):
                for outputs, (i, j) in zip(acc, places, strict=True):
                    value = values[number][i][j]
                    if is_divided:
                        bias = self.bias[first_vector + number, T.ramp(0, 1, lanes)]
                        value = self._divided(value) + bias
                    set_lanes(outputs[number], value, lanes)
            pixels = [pixel + i * self.sizes.line + j for i, j in places]
            targets = [self.place.beside(target, i, j) for i, j in places]
            self._finish(section, first_vector, Pixels(pixels), acc, targets=targets)

    def _divided(self, value: Vector) -> Vector:
        """Divide outputs by the factor by which they are too large."""
        transform, lanes = self.plan.transform, self.isa.lanes
        if transform.inverse != 1:
            value = wrapped("mul", value, T.broadcast(T.int32(transform.inverse), lanes))
        return T.shift_right(value, T.broadcast(T.int32(transform.scale_bits), lanes))

    def _data_place(self, position: Index, group: Index, tile: Index) -> Index:
        """Return the offset of a tile's first transformed value."""
        block = group * self.plan.transform.positions + position
        return block * self.cut.data_stride + tile * self.words

    def _sums_place(self, position: Index, group: Index) -> Index:
        """Return the offset of the first sum of a group."""
        return (group * self.plan.transform.positions + position) * self.sums_stride
