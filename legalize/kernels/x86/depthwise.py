"""Depthwise convolution of bytes by AVX512.

Rows are interleaved to cells in a small buffer, with the padding around them, so that no padded
or shifted copy of the whole data is made:

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
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.x86.depthwise_plan import BYTES, LANES, PLANES, Plan, Section
from legalize.kernels.x86.interleave import add_products, interleave_bytes, interleave_words
from legalize.kernels.x86.requantize import Requantization, constant_rows, requantize
from legalize.kernels.x86.store import narrow
from legalize.kernels.x86.vnni import lanes_of, local_vector, set_lanes


@cache
def depthwise_conv2d(plan: Plan, requantization: Requantization) -> tirx.PrimFunc:
    """Build the function that computes a depthwise convolution.

    Needs a target with ``avx512bw``, and ``avx512vnni`` if the plan's instruction does.

    Args:
        plan: From ``pack_depthwise``.
        requantization: Likewise.

    Returns:
        A function of the data, ``spec.in_dtype`` of ``spec.in_shape``; the ``constants`` of
        ``pack_depthwise`` in order; and the output, ``spec.out_dtype`` of ``spec.out_shape``.
    """
    return _Kernel(plan, requantization).build()


class _Kernel:
    """The buffers of one function, and what writes its loops."""

    def __init__(self, plan: Plan, requantization: Requantization) -> None:
        self.plan = plan
        self.spec = plan.spec
        self.requantization = requantization

    def build(self) -> tirx.PrimFunc:
        spec, plan = self.spec, self.plan
        with IRBuilder() as builder, T.prim_func(s_tir=True):
            T.func_name("depthwise_conv2d")
            # As for conv2d: with "noalias" LLVM would lift loads of constants, and spill them.
            T.func_attr({"global_symbol": "depthwise_conv2d", "tirx.noalias": False})
            self._declare()
            first_vector = 0
            parts = []
            for section in plan.sections:
                part = _Part(self, section, first_vector)
                part.fill_borders()
                parts.append(part)
                first_vector += section.blocks * PLANES
            groups = -(-spec.out_height // plan.rows)
            with T.serial(spec.batch) as image, T.serial(groups) as group:
                # The last rows overlap the ones before.
                row = T.min(group * plan.rows, spec.out_height - plan.rows)
                for part in parts:
                    with T.serial(part.section.blocks) as block:
                        part.interleave(image, row, block)
                        part.convolve(image, row, block)
        return builder.get()

    def _declare(self) -> None:
        spec, plan = self.spec, self.plan
        data = T.arg("data", T.buffer(spec.in_shape, spec.in_dtype))
        vectors = plan.vectors()
        taps = plan.dot.taps
        self.weights_step = spec.kernel_width * len(plan.products) * LANES * taps
        size = vectors * self.weights_step
        self.weights = T.arg("weights", T.buffer((size,), "int8" if taps == 4 else "int16"))
        self.bias = T.arg("bias", T.buffer((vectors, LANES), "int32"))
        self.constants = []
        for number, (dtype, rows) in enumerate(constant_rows(self.requantization)):
            lanes = LANES if dtype == "int32" else LANES // 2
            buffer = T.buffer((vectors, rows, lanes), dtype)
            self.constants.append((T.arg(f"rescale_{number}", buffer), lanes))
        output = T.arg("output", T.buffer(spec.out_shape, spec.out_dtype))
        size = spec.batch * spec.in_height * spec.in_width * spec.in_channels
        self.source = T.decl_buffer((size,), spec.in_dtype, data=data.data)
        size = spec.out_pixels * spec.out_channels
        self.target = T.decl_buffer((size,), spec.out_dtype, data=output.data)


class _Part:
    """What writes the loops of one section."""

    def __init__(self, kernel: _Kernel, section: Section, first_vector: int) -> None:
        self.kernel = kernel
        self.plan = kernel.plan
        self.spec = kernel.spec
        self.section = section
        self.first_vector = first_vector
        self.plane_size = self.plan.slots(section) * section.width
        size = self.plan.cells * self.spec.strides[1] * PLANES * self.plane_size
        self.cells = T.alloc_buffer((size,), "uint8", scope="global")

    def fill_borders(self) -> None:
        """Write the padding at the left and the right, which is the same for all rows."""
        width = self.section.width
        zero = self.spec.staged_zero_point
        pattern = zero * (0x01010101 if self.plan.dot.taps == 4 else 0x00010001)
        signed = pattern - (1 << 32) if pattern >= 1 << 31 else pattern
        value = T.reinterpret(f"uint8x{width}", T.broadcast(T.int32(signed), width // 4))
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

    def interleave(self, image: Any, out_row: Any, block: Any) -> None:
        """Write the loops that interleave the input rows of some output rows."""
        stride = self.spec.strides[1]
        pixels = self.section.pixels
        for phase, first_slot, first_column, count in self._phases():
            whole, rest = divmod(count, pixels)

            def pieces(slot: Any, size: int, where: tuple[int, int, int] = (0, 0, 0)) -> None:
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
                slot = 0
                while slot < count:
                    size = 1 << ((count - slot).bit_length() - 1)
                    pieces(slot, size, where)
                    slot += size

    def _phases(self) -> list[tuple[int, int, int, int]]:
        """Columns by their remainder to the stride, as tiles read them.

        Returns:
            For each remainder that a column of the kernel has: it; the slot of the first column
            of the data; that column; the number of columns that are read.
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

    def _plane(self, cell: Any, phase: Any, plane: int) -> Any:
        """Offset of a plane in the buffer of cells."""
        return ((cell * self.spec.strides[1] + phase) * PLANES + plane) * self.plane_size

    def _rows(self, image: Any, out_row: Any, block: Any, column: Any, size: int) -> list[Any]:
        """Load the same ``size`` columns of every row, uint8."""
        spec = self.spec
        top, _, bottom, _ = spec.padding
        lanes = size * self.section.width
        channel = self.section.first_channel + block * self.section.width
        zero = T.broadcast(T.uint8(spec.staged_zero_point), lanes)
        rows = []
        for offset in self.plan.row_offsets:
            row = out_row * spec.strides[0] + (offset - top)
            inside = T.And(row >= 0, row < spec.in_height)
            if top or bottom:
                row = T.max(T.min(row, spec.in_height - 1), 0)
            pixel = (image * spec.in_height + row) * spec.in_width + column
            value = self._load(pixel * spec.in_channels + channel, size)
            if spec.in_dtype == "int8":
                value = T.reinterpret(f"uint8x{lanes}", value)
                value = T.bitwise_xor(value, T.broadcast(T.uint8(128), lanes))
            rows.append(T.Select(inside, value, zero) if top or bottom else value)
        return rows

    def _load(self, start: Any, size: int) -> Any:
        """Load the block's channels of ``size`` columns that are a stride apart."""
        spec, width = self.spec, self.section.width
        source = self.kernel.source
        pitch = spec.strides[1] * spec.in_channels
        if self.section.channels == width and (size == 1 or pitch == width):
            return source[T.ramp(start, 1, size * width)]
        if self.section.channels == width:
            pixels = [source[T.ramp(start + i * pitch, 1, width)] for i in range(size)]
        else:
            # Not a byte past the last channel, which may be the last of the data.
            real = T.ramp(0, 1, width) < T.broadcast(T.int32(self.section.channels), width)
            pixels = [
                T.masked_load(
                    f"{spec.in_dtype}x{width}", source, T.ramp(start + i * pitch, 1, width), real
                )
                for i in range(size)
            ]
        return pixels[0] if size == 1 else T.Shuffle(pixels, list(range(size * width)))

    def _interleave(self, rows: list[Any], phase: int, slot: Any, lanes: int) -> None:
        taps = self.plan.dot.taps
        for cell in range(self.plan.cells):
            own = rows[cell * taps : (cell + 1) * taps]
            # Slots that no row fills meet weights of zero.
            own += own[:1] * (taps - len(own))
            planes = (interleave_bytes if taps == 4 else interleave_words)(own, lanes)
            for plane, value in enumerate(planes):
                start = self._plane(cell, phase, plane) + slot * self.section.width
                T.buffer_store(self.cells, value, [T.ramp(start, 1, lanes)])

    def convolve(self, image: Any, out_row: Any, block: Any) -> None:
        """Write the loop over the tiles of some output rows."""
        spec, pixels = self.spec, self.section.pixels
        step = self.plan.tiles * pixels
        if spec.out_width < step:
            self._tile(image, out_row, block, T.int32(0), spec.out_width)
        else:
            with T.serial(-(-spec.out_width // step)) as tile:
                # The last tile overlaps the one before.
                first = T.min(tile * step, spec.out_width - step)
                self._tile(image, out_row, block, first, step)

    def _tile(self, image: Any, out_row: Any, block: Any, column: Any, columns: int) -> None:
        """Write the computation of ``columns`` neighbouring outputs in each row."""
        spec, plan, kernel = self.spec, self.plan, self.kernel
        pixels = self.section.pixels
        tiles = -(-columns // pixels)
        vector = self.first_vector + block * PLANES
        acc = [
            [[local_vector() for _ in range(PLANES)] for _ in range(tiles)]
            for _ in range(plan.rows)
        ]
        for row in acc:
            for tile in row:
                for plane, lanes in enumerate(tile):
                    set_lanes(lanes, kernel.bias[vector + plane, T.ramp(0, 1, LANES)])
        self._accumulate(vector, column, acc)
        constants = [self._constants(vector + plane) for plane in range(PLANES)]
        for r, row in enumerate(acc):
            start = (image * spec.out_height + out_row + r) * spec.out_width + column
            for t, tile in enumerate(row):
                vectors = [
                    requantize(spec, kernel.requantization, lanes_of(lanes), constants[plane])
                    for plane, lanes in enumerate(tile)
                ]
                self._store(start + t * pixels, block, vectors, min(pixels, columns - t * pixels))

    def _constants(self, vector: Any) -> list[Any]:
        def rows_of(buffer: Any, lanes: int) -> Any:
            return lambda row: buffer[vector, row, T.ramp(0, 1, lanes)]

        return [rows_of(*constant) for constant in self.kernel.constants]

    def _accumulate(self, vector: Any, column: Any, acc: Any) -> None:
        plan, kernel, spec = self.plan, self.kernel, self.spec
        taps = plan.dot.taps
        stride, dilation = spec.strides[1], spec.dilation[1]

        def step(kx: Any, number: Any, row: int, cell: Any) -> None:
            shift, phase = kx * dilation // stride, kx * dilation % stride
            for plane in range(PLANES):
                place = (kx * len(plan.products) + number) * PLANES + plane
                start = vector * kernel.weights_step + place * LANES * taps
                weights = kernel.weights[T.ramp(start, 1, LANES * taps)]
                first = self._plane(cell, phase, plane) + (column + shift) * self.section.width
                for t, tile in enumerate(acc[row]):
                    cells = self.cells[T.ramp(first + t * BYTES, 1, BYTES)]
                    total = add_products(plan.dot.name, lanes_of(tile[plane]), cells, weights)
                    set_lanes(tile[plane], total)

        if plan.is_unrolled:
            for kx in range(spec.kernel_width):
                for number, (row, cell) in enumerate(plan.products):
                    step(kx, number, row, cell)
        else:
            with T.serial(spec.kernel_width) as kx, T.serial(plan.cells) as cell:
                step(kx, cell, 0, cell)

    def _store(self, pixel: Any, block: Any, vectors: list[Any], pixels: int) -> None:
        """Store the first ``pixels`` pixels of a vector."""
        spec, width = self.spec, self.section.width
        channel = self.section.first_channel + block * width
        if spec.out_dtype == "int32":
            for plane, value in enumerate(vectors):
                for quarter in range(4):
                    place, first = divmod(quarter * 16 + plane * 4, width)
                    if place < pixels:
                        start = (pixel + place) * spec.out_channels + channel + first
                        count = min(4, self.section.channels - first)
                        self._store_lanes(value, quarter * 4, start, count)
            return
        ((value, _, _),) = narrow(spec, vectors)
        start = pixel * spec.out_channels + channel
        if width == spec.out_channels and pixels == self.section.pixels:
            self._store_lanes(value, 0, start, BYTES)
        else:
            for place in range(pixels):
                at = start + place * spec.out_channels
                self._store_lanes(value, place * width, at, self.section.channels)

    def _store_lanes(self, value: Any, first: int, start: Any, count: int) -> None:
        """Store some neighbouring lanes of a vector, in powers of two."""
        while count > 0:
            size = 1 << (count.bit_length() - 1)
            part = T.Shuffle([value], list(range(first, first + size)))
            index = start if size == 1 else T.ramp(start, 1, size)
            T.buffer_store(self.kernel.target, part, [index])
            first, start, count = first + size, start + size, count - size
