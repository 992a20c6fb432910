"""Depthwise convolution of bytes.

Rows are interleaved to cells in a small buffer, with the padding around them. So no padded or
shifted copy of the whole data is made:

    for each task                             in parallel, if there is work for several
      for each few output rows
        for each block of channels
          buffer = interleave(the input rows that they read)
          for each tile of output columns
            accumulators = bias
            for each kernel column and pair of an output row and a cell that it reads
              accumulators += cells · weights
            store(narrow(requantize(accumulators)))
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.x86.epilogue.base import Epilogue, row_lanes
from legalize.kernels.conv2d.x86.store import narrow
from legalize.kernels.depthwise.x86.interleave import (
    add_products,
    interleave_bytes,
    interleave_words,
)
from legalize.kernels.depthwise.x86.plan import PLANES, Plan, Section, cycles
from legalize.kernels.ir.places import address, with_addresses
from legalize.kernels.ir.rows import load_filled, powers_of_two, store_lanes
from legalize.kernels.ir.tables import Table, Tables
from legalize.kernels.ir.tasks import loop_between, share, task_count
from legalize.kernels.ir.vectors import (
    Buffer,
    Index,
    Vector,
    get_lanes,
    kept,
    local_vector,
    set_lanes,
    unsigned_min,
)
from legalize.written import flat, new_function

_CYCLES_PER_MICROSECOND = 3000
# TVM takes a "global" buffer of at least this many bytes from its workspace.
_OFF_STACK = 1024


@cache
def depthwise_conv2d(plan: Plan, epilogue: Epilogue) -> tirx.PrimFunc:
    """Build the function that computes a depthwise convolution.

    Needs a target with the features of the plan's instruction set.

    Args:
        plan: from ``pack_depthwise``.
        epilogue: from ``pack_depthwise``, too.

    Returns:
        A function of the data, ``spec.in_dtype`` of ``spec.in_shape``; the ``constants`` of
        ``pack_depthwise`` in order; and the output, ``spec.output.dtype`` of ``spec.out_shape``.
    """
    return _Kernel(plan, epilogue).build()


class _Kernel:
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, plan: Plan, epilogue: Epilogue) -> None:
        self.plan = plan
        self.spec = plan.spec
        self.epilogue = epilogue
        self.bands = -(-plan.spec.out_height // plan.rows)
        self.turns = plan.spec.batch * self.bands
        self.tasks = task_count(plan.spec.batch * cycles(plan) / _CYCLES_PER_MICROSECOND)

    def build(self) -> tirx.PrimFunc:
        # As for conv2d: with "noalias" LLVM would lift loads of constants, and spill them.
        with new_function("depthwise_conv2d", noalias=False) as builder:
            self._declare()
            with with_addresses():
                if self.tasks == 1:
                    self._rows(0, self.turns)
                else:
                    with T.parallel(self.tasks) as task:
                        self._rows(*share(task, self.tasks, self.turns))
        return builder.get()

    def _rows(self, start: Index, stop: Index) -> None:
        """Write the loop of one task, with buffers of its own."""
        spec, plan = self.spec, self.plan
        parts = []
        first_vector = 0
        for section in plan.sections:
            part = _Part(self, section, first_vector)
            part.fill_borders()
            parts.append(part)
            first_vector += section.blocks * PLANES

        def turn(number: Index) -> None:
            image, band = T.truncdiv(number, self.bands), T.truncmod(number, self.bands)
            # The last rows overlap the ones before.
            row = unsigned_min(band * plan.rows, spec.out_height - plan.rows)
            for part in parts:
                with T.serial(part.section.blocks) as block:
                    part.interleave(image, row, block)
                    part.convolve(image, row, block)

        loop_between(start, stop, turn)

    def _declare(self) -> None:
        spec, plan = self.spec, self.plan
        self.tables = Tables()
        data = T.arg("data", T.buffer(spec.in_shape, spec.in_dtype))
        vectors, taps = plan.vectors(), plan.form.taps
        self.weights_stride = len(plan.products) * plan.isa.lanes * taps
        size = vectors * self.weights_stride
        self.weights = T.arg("weights", T.buffer((size,), "int8" if taps == 4 else "int16"))
        self.bias = self.tables.parameter("bias", (vectors, plan.isa.lanes), "int32")
        self.constants = []
        for number, (dtype, rows) in enumerate(self.epilogue.constants):
            lanes = row_lanes(dtype, plan.isa.lanes)
            shape = (vectors, rows, lanes)
            self.constants.append((self.tables.parameter(f"rescale_{number}", shape, dtype), lanes))
        output = T.arg("output", T.buffer(spec.out_shape, spec.output.dtype))
        self.tables.flatten()
        self.source, self.target = flat(data), flat(output)


class _Part:
    """The writer of one section's loops."""

    def __init__(self, kernel: _Kernel, section: Section, first_vector: int) -> None:
        self.kernel = kernel
        self.plan = kernel.plan
        self.spec = kernel.spec
        self.section = section
        self.first_vector = first_vector
        self.lanes = kernel.plan.isa.lanes
        self.pixels = kernel.plan.pixels(section)
        self.plane_size = self.plan.slots(section) * section.width
        size = self.plan.cells * self.spec.strides[1] * PLANES * self.plane_size
        # The buffer is not on the stack: LLVM would turn the few pixels of a tiny image into
        # shuffles of registers, and some of these crash LLVM 22.
        self.cells = T.alloc_buffer((max(size, _OFF_STACK),), "uint8", scope="global")

    def fill_borders(self) -> None:
        """Write the left and right padding, which is the same for all rows."""
        width = self.section.width
        value = self._cell(self.spec.staged_zero_point, width)
        for phase, first_slot, _, count in self._phases():
            after = first_slot + count
            end = -(-(self.plan.columns - phase) // self.spec.strides[1])
            for cell in range(self.plan.cells):
                for plane in range(PLANES):
                    start = self._plane(cell, phase, plane)
                    for first, stop in ((0, min(first_slot, end)), (after, end)):
                        if stop > first:
                            with T.serial(stop - first) as slot:
                                index = T.ramp(start + (first + slot) * width, 1, width)
                                T.buffer_store(self.cells, value, [index])

    def _cell(self, value: int, lanes: int) -> Vector:
        """Return a vector of bytes whose cells hold only this value."""
        bits = value * (0x01010101 if self.plan.form.taps == 4 else 0x00010001)
        signed = bits - (1 << 32) if bits >= 1 << 31 else bits
        return T.reinterpret(f"uint8x{lanes}", T.broadcast(T.int32(signed), lanes // 4))

    def interleave(self, image: Index, out_row: Index, block: Index) -> None:
        """Write the loops that interleave the input rows of some output rows."""
        stride = self.spec.strides[1]
        pixels = self.pixels
        for phase, first_slot, first_column, count in self._phases():
            whole, rest = divmod(count, pixels)

            def pieces(slot: Index, size: int, where: tuple[int, int, int] = (0, 0, 0)) -> None:
                phase, first_slot, first_column = where
                column = first_column + slot * stride
                rows = self._rows(image, out_row, block, column, size)
                self._interleave(rows, phase, first_slot + slot, size * self.section.width)

            where = (phase, first_slot, first_column)
            if whole:
                with T.serial(whole) as i:
                    pieces(i * pixels, pixels, where)
                if rest:
                    pieces(count - pixels, pixels, where)
            else:
                for slot, size in powers_of_two(count):
                    pieces(slot, size, where)

    def _phases(self) -> list[tuple[int, int, int, int]]:
        """Sort columns by their remainder modulo the stride, as tiles read them.

        Returns:
            For each remainder that a kernel column has: the remainder; the slot of the data's
            first column; that column; the number of columns that are read.
        """
        spec = self.spec
        stride, left = spec.strides[1], spec.padding[1]
        stop = min(spec.in_width, self.plan.columns - left)
        phases = sorted({k * spec.dilation[1] % stride for k in range(spec.kernel_width)})
        described = []
        for phase in phases:
            first = (phase - left) % stride
            count = max(0, -(-(stop - first) // stride))
            described.append((phase, (first + left) // stride, first, count))
        return described

    def _plane(self, cell: Index, phase: Index, plane: int) -> Index:
        """Return the offset of a plane in the buffer of cells."""
        return ((cell * self.spec.strides[1] + phase) * PLANES + plane) * self.plane_size

    def _rows(
        self, image: Index, out_row: Index, block: Index, column: Index, size: int
    ) -> list[Vector]:
        """Load the bytes of the same ``size`` columns of every row."""
        spec = self.spec
        top, _, bottom, _ = spec.padding
        lanes = size * self.section.width
        channel = self.section.first_channel + block * self.section.width
        zero = T.broadcast(T.uint8(spec.input_zero_point & 255), lanes)
        rows = []
        for offset in self.plan.row_offsets:
            row = out_row * spec.strides[0] + (offset - top)
            inside = T.And(row >= 0, row < spec.in_height)
            if top or bottom:
                row = T.max(T.min(row, spec.in_height - 1), 0)
            pixel = (image * spec.in_height + row) * spec.in_width + column
            value = self._load(address(pixel * spec.in_channels + channel), size)
            if spec.in_dtype == "int8":
                value = T.reinterpret(f"uint8x{lanes}", value)
            rows.append(kept(T.Select(inside, value, zero) if top or bottom else value))
        return rows

    def _load(self, start: Index, size: int) -> Vector:
        """Load the block's channels of ``size`` columns that are a stride apart."""
        spec, width = self.spec, self.section.width
        source = self.kernel.source
        pitch = spec.strides[1] * spec.in_channels
        if self.section.channels == width and (size == 1 or pitch == width):
            return source[T.ramp(start, 1, size * width)]
        pixels = [self._load_pixel(start + i * pitch) for i in range(size)]
        return pixels[0] if size == 1 else T.Shuffle(pixels, list(range(size * width)))

    def _load_pixel(self, start: Index) -> Vector:
        """Load the block's channels of one pixel, but no further byte: there may be none."""
        source, width, channels = self.kernel.source, self.section.width, self.section.channels
        # Surplus lanes meet weights of zero.
        return load_filled(source, start, channels, width)

    def _interleave(self, rows: list[Vector], phase: int, slot: Index, lanes: int) -> None:
        taps = self.plan.form.taps
        for cell in range(self.plan.cells):
            own = rows[cell * taps : (cell + 1) * taps]
            # Slots that no row fills meet weights of zero.
            own += own[:1] * (taps - len(own))
            planes = (interleave_bytes if taps == 4 else interleave_words)(own, lanes)
            # Load all planes before the first store: LLVM must assume that it changes the data.
            values = [local_vector(lanes, "uint8") for _ in planes]
            for value, plane in zip(values, planes, strict=True):
                if self.spec.in_dtype == "int8":
                    plane = T.bitwise_xor(plane, self._cell(128, lanes))
                set_lanes(value, plane, lanes)
            for number, value in enumerate(values):
                start = self._plane(cell, phase, number) + slot * self.section.width
                T.buffer_store(self.cells, get_lanes(value, lanes), [T.ramp(start, 1, lanes)])

    def convolve(self, image: Index, out_row: Index, block: Index) -> None:
        """Write the loop over the tiles of some output rows."""
        spec, pixels = self.spec, self.pixels
        columns = self.plan.tiles * pixels
        if spec.out_width < columns:
            self._tile(image, out_row, block, T.int32(0), spec.out_width)
        else:
            with T.serial(-(-spec.out_width // columns)) as tile:
                # The last tile overlaps the one before.
                first = unsigned_min(tile * columns, spec.out_width - columns)
                self._tile(image, out_row, block, first, columns)

    def _tile(
        self, image: Index, out_row: Index, block: Index, column: Index, columns: int
    ) -> None:
        """Write the computation of ``columns`` neighbouring outputs in each row."""
        spec, plan, kernel = self.spec, self.plan, self.kernel
        pixels, lanes = self.pixels, self.lanes
        tiles = -(-columns // pixels)
        vector = address(self.first_vector + block * PLANES)
        slot = address(column * self.section.width)
        acc = [
            [[local_vector(lanes) for _ in range(PLANES)] for _ in range(tiles)]
            for _ in range(plan.rows)
        ]
        # Plane by plane, so that a plane's weights and constants are loaded once for all tiles. All
        # loads precede the first store, as LLVM must assume that it changes what is loaded.
        for plane in range(PLANES):
            own = [[tile[plane] for tile in row] for row in acc]
            bias = kernel.bias[vector + plane, T.ramp(0, 1, lanes)]
            for sums in chain(*own):
                set_lanes(sums, bias, lanes)
            self._accumulate(vector, plane, slot, own)
            constants = self._constants(vector + plane)
            for sums in chain(*own):
                value = get_lanes(sums, lanes)
                value = kernel.epilogue.emit(value, constants)
                set_lanes(sums, value, lanes)
        for r, row in enumerate(acc):
            row_start = (image * spec.out_height + out_row + r) * spec.out_width
            start = address(row_start + column)
            for t, tile in enumerate(row):
                vectors = [get_lanes(sums, lanes) for sums in tile]
                self._store(start + t * pixels, block, vectors, min(pixels, columns - t * pixels))

    def _constants(self, vector: Index) -> list[Any]:
        def rows_of(buffer: Table, lanes: int) -> Any:
            return lambda row: buffer[vector, row, T.ramp(0, 1, lanes)]

        return [rows_of(*constant) for constant in self.kernel.constants]

    def _accumulate(self, vector: Index, plane: int, slot: Index, acc: list[list[Buffer]]) -> None:
        """Write the sums of one plane."""
        plan, kernel, spec = self.plan, self.kernel, self.spec
        weights_size = self.lanes * plan.form.taps
        stride, dilation = spec.strides[1], spec.dilation[1]

        size = plan.vector_bytes

        def add_tap(kx: Index, number: Index, row: int, cell: Index) -> None:
            shift, phase = kx * dilation // stride, kx * dilation % stride
            place = number * PLANES + plane
            start = vector * kernel.weights_stride + place * weights_size
            weights = kernel.weights[T.ramp(start, 1, weights_size)]
            first = slot + (self._plane(cell, phase, plane) + shift * self.section.width)
            for t, sums in enumerate(acc[row]):
                cells = self.cells[T.ramp(first + t * size, 1, size)]
                total = add_products(plan.isa, get_lanes(sums, self.lanes), cells, weights)
                set_lanes(sums, total, self.lanes)

        if plan.is_unrolled:
            for number, each in enumerate(plan.products):
                add_tap(each.column, number, each.row, each.cell)
        else:
            terms = plan.form.terms
            with T.serial(spec.kernel_width) as kx, T.serial(plan.cells) as cell:
                for term in range(terms):
                    add_tap(kx, (kx * plan.cells + cell) * terms + term, 0, cell)

    def _store(self, pixel: Index, block: Index, vectors: list[Vector], pixels: int) -> None:
        """Store the first ``pixels`` pixels of a vector."""
        spec, width = self.spec, self.section.width
        channel = self.section.first_channel + block * width
        if spec.output.dtype == "int32":
            for plane, value in enumerate(vectors):
                for quarter in range(self.lanes // 4):
                    place, first = divmod(quarter * 16 + plane * 4, width)
                    if place < pixels:
                        start = (pixel + place) * spec.out_channels + channel + first
                        count = min(4, self.section.channels - first)
                        store_lanes(self.kernel.target, value, quarter * 4, start, count)
            return
        ((value, _, _),) = narrow(spec.output, vectors, self.kernel.epilogue.zero_point_left)
        start = pixel * spec.out_channels + channel
        if width == spec.out_channels and pixels == self.pixels:
            store_lanes(self.kernel.target, value, 0, start, self.plan.vector_bytes)
        else:
            for place in range(pixels):
                at = start + place * spec.out_channels
                store_lanes(self.kernel.target, value, place * width, at, self.section.channels)
