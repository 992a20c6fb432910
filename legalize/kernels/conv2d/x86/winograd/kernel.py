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
after the other, are in few pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.tiling import Section
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.kernel import ConvKernel
from legalize.kernels.conv2d.x86.pixels import Pixels
from legalize.kernels.conv2d.x86.prefetch import fetch_ahead
from legalize.kernels.conv2d.x86.winograd.combine import both_ways
from legalize.kernels.ir.rows import for_each_piece
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

# Outputs of a tile that are finished together; those of 4 × 4 would not stay in registers.
_PIXELS = 4


class WinogradKernel(ConvKernel):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: WinogradPlan, epilogue: Epilogue) -> None:
        """Write a plan's function."""
        self.plan = plan
        self.wraps = isinstance(plan.products, WordDots)
        super().__init__(plan, epilogue)
        nr = max(section.nr for section in plan.tiling)
        self.data_stride = plan.stride(2 * plan.spec.in_channels) // 2
        self.sums_stride = plan.stride(4 * nr * self.isa.lanes) // 4
        self.groups = plan.panel // plan.group

    def _task_count(self) -> int:
        return self.plan.tasks

    def _k_steps_of_block(self) -> int:
        return self.plan.transform.positions * self.spec.in_channels // DWORD

    def _loops(self) -> None:
        units = self.plan.panels * self.plan.blocks
        if self.tasks == 1:
            self._units(0, units)
            return
        with T.parallel(self.tasks) as task:
            self._units(*share(task, self.tasks, units))

    def _units(self, start: Index, stop: Index) -> None:
        """Write the loops over neighbouring blocks of neighbouring panels."""
        plan, blocks = self.plan, self.plan.blocks
        positions = self.groups * plan.transform.positions
        size = positions * self.data_stride
        self.transformed = T.alloc_buffer((size,), "int16", scope="global")
        size = positions * self.sums_stride
        self.multiplied = T.alloc_buffer((size,), "int32", scope="global")

        def panel(number: Index) -> None:
            first = unsigned_min(number * plan.panel, plan.tiles - plan.panel)
            with T.serial(self.groups) as group, T.serial(plan.group) as tile:
                self._transform(first, group, tile)
            before = number * blocks
            for section in plan.tiling:
                lowest, highest = start - before, stop - before
                if self.tasks == 1:
                    lowest, highest = 0, section.blocks
                self._blocks(section, first, lowest, highest)
                before += section.blocks

        loop_between(T.truncdiv(start, blocks), T.truncdiv(stop + blocks - 1, blocks), panel)

    def _blocks(self, section: Section, first: Index, start: Index, stop: Index) -> None:
        """Write the loop over a section's blocks between two numbers."""

        def block(number: Index) -> None:
            first_vector = section.first_vector + number * section.nr
            with T.serial(self.plan.transform.positions) as position:
                self._multiply(section, first_vector, position)
            with T.serial(self.groups) as group, T.serial(self.plan.group) as tile:
                self._end(section, first_vector, first, group, tile)

        loop_between(T.max(start, 0), T.min(stop, section.blocks), block)

    def _place(self, tile: Index) -> tuple[Index, Index, Index]:
        """Return the image, row and column of the first output of a tile."""
        spec, plan = self.spec, self.plan
        row, column = T.truncdiv(tile, plan.columns), T.truncmod(tile, plan.columns)
        image: Index = 0
        if spec.batch > 1:
            image, row = T.truncdiv(row, plan.rows), T.truncmod(row, plan.rows)
        y, x = plan.transform.y.tile_outputs, plan.transform.x.tile_outputs
        row = unsigned_min(row * y, spec.out_height - y)
        return image, row, unsigned_min(column * x, spec.out_width - x)

    def _transform(self, first: Index, group: Index, tile: Index) -> None:
        """Write the transform of the data of a group's tile."""
        plan, channels = self.plan, self.spec.in_channels
        y, x = plan.transform.y, plan.transform.x
        _, height, width, _ = self.spec.staged_shape
        image, row, column = self._place(first + group * plan.group + tile)
        origin = ((image * height + row) * width + column) * channels

        def write(offset: Index, words: int) -> None:
            def load(i: int, j: int) -> Vector:
                place = origin + (i * width + j) * channels + offset
                return T.Cast(f"int16x{words}", self.source[T.ramp(place, 1, words)])

            rows = both_ways(y.data, x.data, load, wraps=False)
            for position, value in enumerate(value for row in rows for value in row):
                place = self._data_place(position, group, tile) + offset
                T.buffer_store(self.transformed, value, [T.ramp(place, 1, words)])

        for_each_piece(channels, write, 2 * self.isa.lanes)

    def _multiply(self, section: Section, first_vector: Index, position: Index) -> None:
        """Write the sums of products of a position of the transform."""
        plan, products, channels = self.plan, self.products, self.spec.in_channels
        nr, group = section.nr, plan.group
        k_step_size = nr * products.part_size
        weights = first_vector * self.vector_stride + position * (channels // 2 * k_step_size)

        with T.serial(self.groups) as number:
            sums = [[local_vector(products.lanes) for _ in range(nr)] for _ in range(group)]
            for row in sums:
                for vector in row:
                    set_lanes(vector, T.broadcast(T.int32(0), products.lanes), products.lanes)
            size = channels // 2 * k_step_size
            end, steps = weights + size, channels // 2
            fetch = fetch_ahead(self.weights, end, size, steps, number, self.groups)
            with T.serial(steps) as k:
                fetch(k)
                for tile, row in enumerate(sums):
                    place = self._data_place(position, number, tile) + 2 * k
                    (data,) = products.load_data(self.transformed, place)
                    for j, vector in enumerate(row):
                        place = weights + k * k_step_size + j * products.part_size
                        factors = products.load_weights(self.weights, place)
                        total = products.multiply_add(
                            get_lanes(vector, products.lanes), data, factors
                        )
                        set_lanes(vector, total, products.lanes)
            for tile, row in enumerate(sums):
                for j, vector in enumerate(row):
                    place = self._sums_place(nr, position, number, tile, j)
                    T.buffer_store(self.multiplied, get_lanes(vector, products.lanes), [place])

    def _end(
        self, section: Section, first_vector: Index, first: Index, group: Index, tile: Index
    ) -> None:
        """Write the code that turns the sums of a group's tile into outputs."""
        spec, plan, lanes, nr = self.spec, self.plan, self.isa.lanes, section.nr
        y, x = plan.transform.y, plan.transform.x
        image, row, column = self._place(first + group * plan.group + tile)
        pixel = (image * spec.out_height + row) * spec.out_width + column
        target = kept(self.place.origin(pixel))

        is_divided = self.epilogue.factor == 1

        def vector(number: int) -> list[list[Vector]]:
            def load(i: int, j: int) -> Vector:
                place = self._sums_place(nr, i * x.extent + j, group, tile, number)
                sums = self.multiplied[place]
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
            pixels = [pixel + i * spec.out_width + j for i, j in places]
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
        return block * self.data_stride + tile * self.spec.in_channels

    def _sums_place(
        self, nr: int, position: Index, group: Index, tile: Index, number: int
    ) -> Index:
        """Return the offset of a vector of a tile's sums."""
        lanes, block = self.isa.lanes, group * self.plan.transform.positions + position
        return T.ramp(block * self.sums_stride + (tile * nr + number) * lanes, 1, lanes)
